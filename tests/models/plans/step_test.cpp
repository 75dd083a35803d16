// The step of a large model where exchanges take what the test says.
#include "models/plans/step.hpp"

#include "models/plans/optimizer_time.hpp"
#include "models/plans/piece_cost.hpp"
#include "models/plans/planned_layer.hpp"
#include "sim/base/normal_scores.hpp"

#include "tests/support/plan_parts.hpp"
#include "tests/support/small_plan.hpp"

#include <catch2/catch.hpp>

#include <cmath>

namespace foretrain::models::step_test {

using test::EqualTimes;
using test::kExchange;
using test::small_model;

TEST_CASE("what overlaps costs the work beside it, what is left of it waits", "[plans]")
{
  constexpr int kLayers = 8;
  StepSetting s = small_model(kLayers);
  s.rules.overlap_cost = 0.25;
  EqualTimes times(kExchange);
  // The embedding's gradient and that of the layer behind it come after backward; the others ride
  // beside it.
  const ParameterCount of = models::parameters(s.memory.model);
  const Seconds tail = kExchange * ((of.embedding + of.layers / kLayers) / of.total());
  const test::PlanParts result = test::parts_of_plan(s, times);
  CHECK(result.data.value() == Approx((tail + 0.25 * (kExchange - tail)).value()).epsilon(1e-9));
  s.rules.overlap_gradients = false;
  CHECK(test::parts_of_plan(s, times).data.value() == Approx(kExchange.value()).epsilon(1e-9));
}

TEST_CASE("logits have their gradients first, experts none of the embedding",
          "[plans][closed-form]")
{
  constexpr int kLayers = 4;
  StepSetting s = small_model(kLayers);
  s.memory.model.tied = false;
  s.memory.plan.zero = 1;
  s.rules.overlap_cost = 0;
  EqualTimes times(kExchange);
  const auto exposed = [&] { return plan_step(s, times).ends.front(); };
  const ParameterCount of = models::parameters(s.memory.model);
  const double tail = (of.embedding + of.layers / kLayers) / of.total();
  CHECK(exposed().gradients.exposed.value() == Approx(tail * kExchange.value()));
  CHECK(exposed().parameters.exposed.value() == Approx(tail * kExchange.value()));
  // The second of two stages has no embedding: one of its two layers is left.
  s.memory.plan.pipeline = 2;
  s.memory.batch.gpus = 4;
  const double last = (of.layers / kLayers) / (of.total() - of.embedding - of.layers / 2);
  CHECK(plan_step(s, times).ends.back().gradients.exposed.value() ==
        Approx(last * kExchange.value()));
  // Adapters alone are trained, none of which is the embedding's.
  s.memory.plan.pipeline = 1;
  s.memory.batch.gpus = 2;
  s.memory.adapters = Adapters{};
  CHECK(exposed().gradients.exposed.value() == Approx(kExchange.value() / kLayers));
  s.memory.adapters.reset();
  s.memory.model.experts = 4;
  s.memory.model.top_k = 2;
  s.memory.plan.expert = 2;
  const double shared =
      models::parameters(s.memory.model).total() - models::parameters(s.memory.model).experts;
  const double one = of.embedding + (shared - of.embedding - of.output - of.final_norm) / kLayers;
  CHECK(exposed().gradients.exposed.value() ==
        Approx((one / shared + 1.0 / kLayers) * kExchange.value()));
}

TEST_CASE("a step waits for the slowest of its GPUs, of one kind and from step to step", "[plans]")
{
  StepSetting s = small_model(4);
  s.variation = 0.003;
  s.speed_variation = 0.004;
  EqualTimes times(kExchange);
  for (const int gpus : {1, 2, 64, 4096}) {
    s.memory.batch.gpus = s.memory.batch.data = gpus;
    const test::PlanParts parts = test::parts_of_plan(s, times);
    CHECK((1 + parts.straggler / parts.compute) ==
          Approx(std::exp(0.005 * sim::largest_normal_score(gpus))).epsilon(1e-9));
  }
}

TEST_CASE("tokens go to their experts and come back, in both passes", "[plans]")
{
  constexpr int kLayers = 6;
  StepSetting s = small_model(kLayers);
  s.memory.model.experts = 8;
  s.memory.model.top_k = 2;
  s.memory.plan.expert = 2;
  EqualTimes times(kExchange);
  CHECK(test::parts_of_plan(s, times).expert.value() ==
        Approx(4 * kLayers * kExchange.value()).epsilon(1e-9));
}

TEST_CASE("weights that are shared out are copied where the framework does so", "[plans]")
{
  constexpr int kLayers = 4;
  StepSetting s = small_model(kLayers);
  s.memory.plan.zero = 3;
  EqualTimes times(Seconds(0));
  const Seconds without = test::parts_of_plan(s, times).compute;
  s.rules.gather_bytes = 4;
  s.rules.reduce_bytes = 6;
  const double parameters = models::parameters(s.memory.model).total();
  // Gathered in both passes, reduced once.
  const double copied = (2 * 4 + 6) * parameters / s.device.memory.value();
  CHECK((test::parts_of_plan(s, times).compute - without).value() == Approx(copied).epsilon(1e-6));
  // Zero 2 reduces, and gathers once where weights are shared out again.
  s.memory.plan.zero = 2;
  const auto bytes = [&] {
    return (test::parts_of_plan(s, times).compute - without).value() * s.device.memory.value();
  };
  CHECK(bytes() == Approx(6 * parameters).epsilon(1e-6));
  s.rules.reshard_after_backward = true;
  CHECK(bytes() == Approx((4 + 6) * parameters).epsilon(1e-6));
  s.memory.plan.zero = 1;
  CHECK(test::parts_of_plan(s, times).compute == without);
}

TEST_CASE("a host that waits in each micro-batch does not run ahead over the logits", "[plans]")
{
  StepSetting s = small_model(2);
  // Launches are the limit in the layers, and the device in the logits.
  s.device.launches = HostLaunches{.per_kernel = Seconds(1e-3)};
  s.memory.model.vocabulary = 4'000'000;
  s.memory.batch.micro_batches = 3;
  EqualTimes times(Seconds(0));
  const test::PlanParts ahead = test::parts_of_plan(s, times);
  constexpr Seconds kWait{5e-3};
  s.rules.host_per_micro_batch = kWait;
  const test::PlanParts waits = test::parts_of_plan(s, times);
  const OperatorShape shape = operator_shape(s);
  OperatorTime body = forward_time(embedding_operators(s.memory.model, shape), s.device);
  for (int layer = 0; layer < 2; ++layer)
    body += forward_time(layer_operators(s.memory.model, shape, kDenseLayer), s.device);
  const OperatorTime output = forward_time(output_operators(s.memory.model, shape), s.device);
  REQUIRE(body.host > body.device);
  REQUIRE(output.device > output.host);
  // The logits start when the layers are done instead of filling the device's gaps there.
  const Seconds gaps = body.host - body.device;
  CHECK((waits.framework - ahead.framework).value() ==
        Approx((3 * (kWait + gaps)).value()).epsilon(1e-9));
  CHECK(waits.compute.value() == Approx(ahead.compute.value()).epsilon(1e-9));
}

TEST_CASE("an operation is a kernel of the forward pass, each way", "[plans][closed-form]")
{
  StepSetting s = small_model(1);
  const OperatorShape shape = operator_shape(s);
  for (const Operator& op : layer_operators(s.memory.model, shape, kDenseLayer)) {
    INFO(op.name);
    s.device.launches = HostLaunches{.per_operation = Seconds(1), .per_kernel = Seconds(0)};
    CHECK(forward_time(op, s.device).host.value() == op.forward_kernels);
    CHECK(backward_time(op, s.device).host.value() == op.forward_kernels);
    s.device.launches = HostLaunches{.per_kernel = Seconds(1), .casts_per_weight = 1};
    CHECK(forward_time(op, s.device).host.value() == op.forward_kernels + (op.weights ? 1 : 0));
    CHECK(backward_time(op, s.device).host.value() == op.backward_kernels + (op.weights ? 1 : 0));
    s.device.launches.reset();
    CHECK(forward_time(op, s.device).host.value() == 0);
  }
}

TEST_CASE("a host that nobody waits for runs ahead from pass to pass", "[plans][property]")
{
  StepSetting s = small_model(4);
  s.memory.plan.zero = 0;
  EqualTimes times(Seconds(0));
  const auto step = [&](Seconds per_operation) {
    s.device.launches = HostLaunches{.per_operation = per_operation, .per_kernel = Seconds(0)};
    return test::parts_of_plan(s, times);
  };
  const Seconds kernels = step(Seconds(0)).compute;
  Seconds host; // of an operation that takes a second
  const OperatorShape shape = operator_shape(s);
  s.device.launches = HostLaunches{.per_operation = Seconds(1), .per_kernel = Seconds(0)};
  for (const auto& part :
       {embedding_operators(s.memory.model, shape), output_operators(s.memory.model, shape)})
    host += forward_time(part, s.device).host + backward_time(part, s.device).host;
  const auto layer = layer_operators(s.memory.model, shape, kDenseLayer);
  host += 4 * (forward_time(layer, s.device).host + backward_time(layer, s.device).host);
  // As much backward as forward, where kernels take twice as long: forward alone is behind.
  const double even = kernels / host;
  for (const double share : {0.5, 0.8, 0.99, 1.0, 1.3, 4.0}) {
    INFO(share);
    const test::PlanParts parts = step(Seconds(share * even));
    CHECK(parts.compute.value() == Approx(kernels.value()).epsilon(1e-9));
    const double behind = share * kernels.value() - (kernels + parts.optimizer).value();
    CHECK(parts.framework.value() == Approx(std::max(0.0, behind)).margin(1e-9 * kernels.value()));
  }
}

// Exchanges at a byte a nanosecond on 12 GPUs, four on each of three nodes.
class TwelveOnThreeNodes final : public ExchangeTimes {
public:
  Seconds time(PlanGroup group, Operation operation, Bytes size) override
  {
    calls.push_back({group, operation, size});
    return size / BytesPerSecond(1e9);
  }
  int ranks(PlanGroup group) const override
  {
    switch (group) {
    case PlanGroup::data:
      return 12;
    case PlanGroup::shard:
      return 4;
    case PlanGroup::across:
      return 3;
    default:
      return 1;
    }
  }
  Seconds transfer(int, Bytes) override { return Seconds(0); }

  std::vector<PlannedCall> calls;
};

TEST_CASE("optimizer state that a node shares out: its shards are added up between nodes",
          "[plans][closed-form]")
{
  StepSetting s = small_model(4);
  s.memory.batch.gpus = s.memory.batch.data = 12;
  s.memory.per_node = 4;
  s.memory.plan.zero = 1;
  s.memory.plan.shard = GENERATE(ZeroShard::all, ZeroShard::node);
  s.rules.reduce = GradientPrecision::compute;
  s.rules.overlap_gradients = s.rules.overlap_parameters = false;
  TwelveOnThreeNodes times;
  const PlannedStep step = plan_step(s, times);
  const double sent = 2 * models::parameters(s.memory.model).total();
  const PieceParameters all = parameters_of(pieces_of(s.memory.model, s.memory.plan).front(),
                                            s.memory.model, s.memory.plan);
  CHECK(times.calls.front().operation == Operation::reduce_scatter);
  const bool of_node = s.memory.plan.shard == ZeroShard::node;
  const double between = of_node ? sent / 4 : 0;
  CHECK(step.ends.front().gradients.exposed.value() == Approx((sent + between) * 1e-9));
  CHECK(step.ends.front().parameters.exposed.value() == Approx(sent * 1e-9));
  const PlanGroup among = of_node ? PlanGroup::shard : PlanGroup::data;
  REQUIRE(times.calls.size() == (of_node ? 3 : 2));
  CHECK((times.calls.front().group == among && times.calls.back().group == among));
  CHECK(times.calls.back().operation == Operation::all_gather);
  // LAMB on a quarter, or on a twelfth.
  CHECK(optimizer_time(s, all, 4).device.value() ==
        Approx(all.total() / (of_node ? 4 : 12) * s.rules.optimizer_bytes / 1e12));
}

TEST_CASE("DeepSpeed's optimizer for bf16 adds up and all-reduces gradients in fp32", "[plans]")
{
  StepSetting s = small_model(2);
  s.memory.plan.zero = 1;
  s.rules.gradient = s.rules.reduce = GradientPrecision::compute;
  s.rules.bf16_optimizer = true;
  const TransformerRules half = in_effect(s.rules, false);
  CHECK(half.gradient == GradientPrecision::compute);
  CHECK(half.gradient_sum == GradientSum::product);
  s.rules = in_effect(s.rules, true);
  CHECK(s.rules.gradient == GradientPrecision::fp32);
  CHECK(operator_shape(s).summed() == 18);
  TwelveOnThreeNodes times;
  plan_step(s, times);
  CHECK(times.calls.front().operation == Operation::all_reduce);
  CHECK(times.calls.front().size.value() == Approx(4 * models::parameters(s.memory.model).total()));
}

TEST_CASE("what is outside the layers is shared out with nothing beside it", "[plans][closed-form]")
{
  StepSetting s = small_model(3);
  s.memory.plan.zero = 3;
  s.rules.reduce = GradientPrecision::compute;
  s.rules.overlap_cost = 0;
  s.device.half.peak = s.device.attention.peak = 1e9; // layers hide what can be hidden
  TwelveOnThreeNodes times;
  const Piece whole = pieces_of(s.memory.model, s.memory.plan).front();
  const EndParameters ends = end_parameters(whole, s.memory.model, s.memory.plan);
  const ParameterCount of = models::parameters(s.memory.model);
  CHECK(ends.total() == of.total() - of.layers);
  const double layer = 2 * of.layers / 3 * 1e-9;
  const double outside = 2 * ends.total() * 1e-9;
  const auto back = [&](const std::optional<Adapters>& adapters) {
    s.memory.adapters = adapters;
    return piece_cost(s, whole, times).data_back;
  };
  const PieceCost cost = piece_cost(s, whole, times);
  CHECK(cost.data_ahead.exposed.value() == Approx(layer + outside));
  CHECK(cost.data_ahead.whole.value() == Approx(3 * layer + outside));
  // Gathered once, so that gradients alone follow the layers' own weights and gradients.
  CHECK(back({}).exposed.value() == Approx(2 * layer + outside));
  CHECK(back({}).whole.value() == Approx(3 * 2 * layer + outside));
  // Of adapters no gradient is outside the layers.
  CHECK(back(Adapters{}).exposed.value() < 1.1 * layer);
}

TEST_CASE("where launches block, nothing rides beside another", "[plans]")
{
  TransformerRules rules;
  rules.overlap_tensor = rules.overlap_pipeline = rules.overlap_expert = true;
  CHECK(in_effect(rules, true).overlap_tensor);
  rules.launch_blocking = true;
  const TransformerRules blocked = in_effect(rules, true);
  CHECK_FALSE((blocked.overlap_gradients || blocked.overlap_parameters || blocked.overlap_tensor ||
               blocked.overlap_pipeline || blocked.overlap_expert));

  // Keys and values in a ring, weights in every layer: all of what they take is waited for.
  StepSetting s = small_model(2);
  s.memory.plan.zero = 3;
  s.memory.plan.context = 2;
  s.rules = blocked;
  EqualTimes times(kExchange);
  const Piece whole = pieces_of(s.memory.model, s.memory.plan).front();
  const PieceCost cost = piece_cost(s, whole, times);
  CHECK(cost.data_back.exposed.value() == Approx(cost.data_back.whole.value()).epsilon(1e-12));
  CHECK(cost.context.value() == Approx(2 * 2 * kExchange.value()).epsilon(1e-12));
}

TEST_CASE("the host launches one piece of work after the other", "[models][transformer]")
{
  const OperatorTime slow_host{Seconds(1), Seconds(3)};
  const OperatorTime slow_device{Seconds(4), Seconds(2)};
  CHECK(time_in_order(slow_host, slow_device) == Seconds(7));   // 3, then 4 on the device
  CHECK(time_in_order(slow_device, slow_host) == Seconds(5));   // 2 and 3 on the host
  CHECK(time_in_order(slow_device, slow_device) == Seconds(8)); // the device alone
}

TEST_CASE("the stage whose gradients are there last tells when the optimizers begin", "[plans]")
{
  // The last stage has the logits' weights to exchange, but ends its passes one backward pass
  // before the first stage.
  class RateTimes final : public ExchangeTimes {
  public:
    explicit RateTimes(double rate) : rate_(rate) {}
    Seconds time(PlanGroup, Operation, Bytes size) override { return size / BytesPerSecond(rate_); }
    int ranks(PlanGroup) const override { return 2; }
    Seconds transfer(int, Bytes) override { return Seconds(0); }

  private:
    double rate_;
  };
  StepSetting s = small_model(8);
  s.memory.plan.pipeline = 2;
  s.memory.batch.gpus = 4;
  s.memory.model.tied = true; // both ends hold the embedding
  s.rules.overlap_gradients = false;
  // Alike gradients: the first stage's come last.
  const auto optimizers_begin = [&](double rate) {
    RateTimes times(rate);
    const PlannedStep step = plan_step(s, times);
    const Seconds optimizer = std::max(step.ends[0].optimizer, step.ends[1].optimizer);
    const Seconds begin = test::parts_of_plan(s, times).step - s.overhead - optimizer;
    return std::pair{begin, step};
  };
  const auto [soon, quick] = optimizers_begin(1e12);
  CHECK(soon.value() ==
        Approx((quick.run.ends[0] + quick.ends[0].gradients.exposed).value()).epsilon(1e-9));
  // Five layers on the last stage: on a slow network its gradients take longer than it is ahead.
  s.memory.plan.last_stage_layers = 6;
  const auto [late, slow] = optimizers_begin(1e7);
  CHECK(late.value() ==
        Approx((slow.run.ends[1] + slow.ends[1].gradients.exposed).value()).epsilon(1e-9));
}

TEST_CASE("shards of gradients are added to in every micro-batch, whole ones once a step",
          "[plans][closed-form]")
{
  constexpr int kLayers = 4;
  StepSetting s = small_model(kLayers);
  s.memory.batch.micro_batches = 3;
  s.rules.overlap_gradients = s.rules.overlap_parameters = false;
  EqualTimes times(kExchange);
  const auto exposed = [&](int zero, bool reshard) {
    s.memory.plan.zero = zero;
    s.rules.reshard_after_backward = reshard;
    return test::parts_of_plan(s, times).data / kExchange;
  };
  // Of all gradients, and of all weights that the optimizer changed.
  CHECK(exposed(1, false) == Approx(2));
  // Of each layer's gradients and of those outside the layers, in each micro-batch.
  CHECK(exposed(2, false) == Approx(3 * (kLayers + 1) + 1));
  // FSDP gathers weights in each forward pass, and not again in the backward one.
  CHECK(exposed(2, true) == Approx(3 * 2 * (kLayers + 1)));
  const PlannedStep step = plan_step(s, times);
  CHECK(step.ends.front().gradients.calls.empty());
  REQUIRE(step.pieces.front().data_back.calls.size() == 2);
  CHECK(step.pieces.front().data_back.calls.front().operation == Operation::reduce_scatter);
  // Beside the layers where gradients travel beside them: the last layer's, and what is outside.
  s.rules.overlap_gradients = s.rules.overlap_parameters = true;
  s.rules.overlap_cost = 0;
  s.device.half.peak = s.device.attention.peak = 1e3;
  CHECK(exposed(2, false) == Approx(3 * 2).margin(1));
}

TEST_CASE("a pipeline whose engine reduces gradients at its end hides none of them", "[plans]")
{
  StepSetting s = small_model(8);
  s.memory.model.vocabulary = 1000;
  EqualTimes times(kExchange);
  s.rules.stages_overlap_gradients = false;
  const auto exposed = [&] { return plan_step(s, times).ends.front().gradients.exposed.value(); };
  CHECK(exposed() < 0.5 * kExchange.value()); // one stage is no pipeline
  s.memory.plan.pipeline = 2;
  s.memory.batch.gpus = 4;
  CHECK(exposed() == Approx(kExchange.value()));
  s.rules.stages_overlap_gradients = true;
  CHECK(exposed() < 0.5 * kExchange.value());
}

TEST_CASE("a stage that keeps its weights gathers and reduces them once a step",
          "[plans][closed-form]")
{
  constexpr int kLayers = 8;
  StepSetting s = small_model(kLayers);
  s.memory.plan.zero = 3;
  s.memory.plan.pipeline = 2;
  s.memory.batch.gpus = 4;
  s.memory.batch.micro_batches = 6;
  s.rules.overlap_cost = 0;
  s.rules.gather_bytes = 4;
  s.rules.reduce_bytes = 6;
  EqualTimes times(kExchange);
  const PlannedStep shared = plan_step(s, times);
  CHECK(shared.ends.front().gradients.whole.value() == 0);
  CHECK(shared.pieces.front().data_ahead.calls.size() == 2); // of a layer, and outside of them
  s.memory.stages_keep_weights = true;
  const PlannedStep kept = plan_step(s, times);
  for (std::size_t stage = 0; stage < 2; ++stage) {
    INFO(stage);
    const PieceCost& piece = kept.pieces[stage];
    const StageEnds& ends = kept.ends[stage];
    CHECK(piece.data_ahead.calls.empty());
    CHECK(piece.data_back.calls.empty());
    // Gradients have nothing beside them; weights are gathered beside the first pass.
    CHECK(ends.gradients.exposed.value() == Approx(kExchange.value()));
    CHECK(ends.gradients.calls.front().operation == Operation::reduce_scatter);
    const double held = parameters_of(pieces_of(s.memory.model, s.memory.plan)[stage],
                                      s.memory.model, s.memory.plan)
                            .total();
    CHECK(ends.parameters.calls.front().size.value() == Approx(2 * held));
    CHECK(ends.parameters.exposed < 0.6 * kExchange);
    // Both copies once.
    const StageEnds& before = shared.ends[stage];
    CHECK((ends.optimizer - before.optimizer).value() ==
          Approx((4 + 6) * held / s.device.memory.value()));
  }
  // Zero 2 keeps no more of them.
  s.memory.plan.zero = 2;
  const PlannedStep gradients = plan_step(s, times);
  for (std::size_t stage = 0; stage < 2; ++stage) {
    CHECK(gradients.pieces[stage].data_back.calls.empty());
    CHECK(gradients.ends[stage].gradients.exposed == kept.ends[stage].gradients.exposed);
    CHECK(gradients.ends[stage].parameters.exposed == kept.ends[stage].parameters.exposed);
  }
  CHECK(gradients.run.end == kept.run.end);
  s.memory.plan.zero = 3;
  // Each micro-batch casts its gradients and adds them up, in place of the products.
  CHECK(operator_shape(s).summed() == 2 + 4 + 3 * 4);
  // Alone, nothing is kept.
  s.memory.plan.pipeline = 1;
  s.memory.batch.gpus = 2;
  CHECK(plan_step(s, times).ends.front().gradients.whole.value() == 0);
}

} // namespace foretrain::models::step_test
