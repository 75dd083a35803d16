// Layers that a job treats otherwise than the others: kept, wide, or away.
#include "models/plans/divided.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/plan_parts.hpp"
#include "tests/support/small_plan.hpp"

namespace foretrain::models::treatments_test {

using test::EqualTimes;
using test::kExchange;
using test::small_model;

namespace {

constexpr int kLayers = 8;

StepSetting four_bits()
{
  StepSetting s = small_model(kLayers);
  s.memory.operand = 0.5;
  s.memory.fp8_kept = Fp8Kept::inputs;
  s.conversion = {3, 2};
  s.device.narrow = s.device.half;
  s.device.narrow.peak = 400e12;
  return s;
}

} // namespace

TEST_CASE("treatments are those of a place in the model or in a piece", "[plans][closed-form]")
{
  Transformer t;
  t.layers = 8;
  t.hidden = 64;
  t.heads = 1;
  ParallelPlan plan;
  plan.pipeline = 2;
  const auto pieces = pieces_of(t, plan, {1, 2, 3, 1});
  LayerParts wide;
  wide.wide = true; // the first
  CHECK(count_of(pieces[0].runs, wide) == 1);
  CHECK(count_of(pieces[0].runs, kDenseLayer) == 2);
  LayerParts kept; // the fourth is not repeated, and its activations are away
  kept.kept = kept.away = true;
  CHECK(count_of(pieces[0].runs, kept) == 1);
  CHECK(count_of(pieces[1].runs, kDenseLayer) == 2);
  CHECK(count_of(pieces[1].runs, wide) == 1);
  kept.wide = true;
  CHECK(count_of(pieces[1].runs, kept) == 1);
  LayerParts away; // without recomputation the first ones are
  away.away = true;
  CHECK(count_of(pieces_of(t, plan, {0, 0, {}, 3})[1].runs, away) == 3);
  CHECK(pieces_of(t, plan)[0].runs.size() == 1);
}

TEST_CASE("layers that are not repeated are kept", "[plans][closed-form]")
{
  StepSetting s = small_model(kLayers);
  s.memory.plan.tensor = 2;
  s.memory.batch.data = 1;
  EqualTimes times(kExchange);
  const auto none = test::parts_of_plan(s, times);
  const double all_kept = stage_memory(s.memory).front().activations.value();
  s.memory.recompute = Recompute::full;
  const auto full = test::parts_of_plan(s, times);
  const double nothing_kept = stage_memory(s.memory).front().activations.value();
  s.memory.treatments.repeated = 2;
  const auto some = test::parts_of_plan(s, times);
  CHECK(none.recompute.value() == 0);
  CHECK(some.recompute.value() == Approx(full.recompute.value() * 2 / kLayers));
  CHECK(full.tensor > none.tensor);
  CHECK(some.tensor.value() ==
        Approx(none.tensor.value() + (full.tensor - none.tensor).value() * 2 / kLayers));
  const double layer = all_kept / kLayers;
  const double input = (nothing_kept - layer) / kLayers; // one layer is there while it is repeated
  CHECK(stage_memory(s.memory).front().activations.value() ==
        Approx(2 * input + (kLayers - 2) * layer + layer));
}

TEST_CASE("wide layers are those of 16 bits in time and memory", "[plans][closed-form]")
{
  EqualTimes times(kExchange);
  StepSetting s = four_bits();
  const auto narrow = test::parts_of_plan(s, times);
  const double few = stage_memory(s.memory).front().activations.value();
  StepSetting plain = s;
  plain.memory.operand = 2;
  plain.conversion = {};
  const auto wide = test::parts_of_plan(plain, times);
  const double many = stage_memory(plain.memory).front().activations.value();
  REQUIRE(wide.compute != narrow.compute);
  REQUIRE(many > few);
  const auto treated = [&](int first, int last) {
    s.memory.treatments.wide_first = first;
    s.memory.treatments.wide_last = last;
    return test::parts_of_plan(s, times).compute.value();
  };
  const double each = (wide.compute - narrow.compute).value() / kLayers;
  CHECK(treated(kLayers, 0) == Approx(wide.compute.value()));
  CHECK(treated(1, 2) == Approx(narrow.compute.value() + 3 * each));
  CHECK(stage_memory(s.memory).front().activations.value() ==
        Approx(few + 3 * (many - few) / kLayers));
}

TEST_CASE("activations in host memory are copied beside the passes", "[plans][closed-form]")
{
  StepSetting s = small_model(kLayers);
  s.host_memory = BytesPerSecond(1e15);
  s.memory.treatments.away = 3;
  s.memory.batch.micro_batches = 2;
  EqualTimes times(kExchange);
  LayerParts away;
  away.away = true;
  const Bytes layer = layer_activations(s.memory, away);
  CHECK(layer == layer_activations(s.memory, kDenseLayer));
  const auto cost = [&](double rate) {
    s.host_link = BytesPerSecond(rate);
    return piece_cost(s, pieces_of(s.memory.model, s.memory.plan, s.memory.treatments).front(),
                      times);
  };
  const PieceCost quick = cost(1e15);
  CHECK(quick.away.value() == Approx(3 * layer.value()));
  CHECK(quick.copied.value() == Approx(3 * layer.value() / 1e15));
  CHECK(quick.forward() == quick.forward_compute + quick.forward_exchanges);
  // Slower than the pass the copy is what a pass takes, each way.
  const PieceCost slow = cost(1e9);
  CHECK(slow.forward().value() == Approx(3 * layer.value() / 1e9));
  CHECK(slow.backward() == slow.forward());
  s.host_memory = BytesPerSecond(5e8); // the slower of both
  CHECK(cost(1e9).copied.value() == Approx(3 * layer.value() / 5e8));
  // On the device five layers stay, and two on their way.
  const StageMemory memory = stage_memory(s.memory).front();
  CHECK(memory.activations.value() == Approx((5 + 2) * layer.value()));
  CHECK(memory.in_host.value() == Approx(3 * layer.value()));
  CHECK(fullest_host(s.memory) == memory.in_host);
  s.memory.treatments.away = 0;
  CHECK(fullest_host(s.memory).value() == 0);
  CHECK(stage_memory(s.memory).front().activations.value() == Approx(8 * layer.value()));
}

TEST_CASE("the program of a step has a copy for each pass, both ways", "[plans]")
{
  StepSetting s = small_model(kLayers);
  s.host_memory = s.host_link = BytesPerSecond(1e10);
  s.memory.batch.micro_batches = 3;
  EqualTimes times(kExchange);
  const auto copies = [&](int away) {
    s.memory.treatments.away = away;
    const sim::Program program = divided_program(s, plan_step(s, times), times, nullptr, false);
    program.check();
    std::vector<sim::Operation> found;
    for (const sim::Operation& op : program.operations)
      if (op.kind == sim::WorkKind::offload)
        found.push_back(op);
    return found;
  };
  CHECK(copies(0).empty());
  const auto both = copies(2);
  REQUIRE(both.size() == 2 * 3);
  CHECK(both[0].to_host);
  CHECK_FALSE(both[1].to_host);
  CHECK(both[0].amount == Approx(2 * layer_activations(s.memory, kDenseLayer).value()));
  CHECK(both[0].alone.value() == Approx(both[0].amount / 1e10));
}

TEST_CASE("of a master copy in host memory the gradients and weights are there, too", "[plans]")
{
  StepSetting s = small_model(kLayers);
  s.memory.state.offload = 0.5;
  const double trained = parameters(s.memory.model).total();
  CHECK(fullest_host(s.memory).value() == Approx(0.5 * trained * (12 + 4 + 2)));
}

TEST_CASE("a host whose updates take longer than all kernels sets the step", "[plans]")
{
  StepSetting s = small_model(2);
  s.device.launches = HostLaunches{.per_operation = Seconds(0), .per_kernel = Seconds(1e-9)};
  EqualTimes times(Seconds(0));
  const Seconds alone = test::parts_of_plan(s, times).step;
  s.rules.optimizer_kernels = 1000;
  s.device.launches->per_kernel = alone / 1000; // twelve tensors of each layer
  const Seconds update = 24.0 * alone;
  const Seconds step = test::parts_of_plan(s, times).step;
  CHECK(step > update);
  CHECK(step < 1.1 * update + alone);
}

} // namespace foretrain::models::treatments_test
