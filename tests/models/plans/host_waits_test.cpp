// What devices wait for their hosts in a plan's step, told as such.
#include "models/plans/optimizer_time.hpp"
#include "models/plans/piece_cost.hpp"
#include "models/plans/planned_layer.hpp"
#include "models/plans/stages.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/plan_parts.hpp"
#include "tests/support/small_plan.hpp"

namespace foretrain::models::host_waits_test {

using test::EqualTimes;
using test::small_model;

TEST_CASE("what experts wait for their host is no computing", "[plans][closed-form]")
{
  constexpr int kLayers = 3;
  StepSetting s = small_model(kLayers);
  s.memory.model.experts = 4;
  s.memory.model.top_k = 2;
  s.rules.host_per_routing = Seconds(4e-3);
  EqualTimes times(Seconds(0));
  s.rules.dropless = true;
  const test::PlanParts waits = test::parts_of_plan(s, times);
  s.rules.dropless = false;
  const test::PlanParts none = test::parts_of_plan(s, times);
  CHECK((waits.framework - none.framework).value() ==
        Approx(s.memory.batch.micro_batches * kLayers * 4e-3).epsilon(1e-9));
  CHECK(waits.compute.value() == Approx(none.compute.value()).epsilon(1e-9));
  CHECK((waits.step - none.step).value() ==
        Approx((waits.framework - none.framework).value()).epsilon(1e-9));
}

TEST_CASE("while a host updates what is offloaded its device waits", "[plans][closed-form]")
{
  StepSetting s = small_model(2);
  s.rules.optimizer_bytes = 10;
  s.rules.host_optimizer_bytes = 40;
  s.host_link = BytesPerSecond(1e10);
  s.host_memory = BytesPerSecond(2e10);
  EqualTimes times(Seconds(0));
  const test::PlanParts here = test::parts_of_plan(s, times);
  s.memory.state.offload = 0.25;
  const test::PlanParts away = test::parts_of_plan(s, times);
  const double parameters =
      parameters_of(pieces_of(s.memory.model, s.memory.plan).front(), s.memory.model, s.memory.plan)
          .total();
  CHECK((away.framework - here.framework).value() ==
        Approx(0.25 * parameters * (6 / 1e10 + 40 / 2e10)).epsilon(1e-9));
  CHECK(away.optimizer.value() == Approx(0.75 * here.optimizer.value()).epsilon(1e-9));
}

TEST_CASE("a layer of experts that waits for its counts waits once where launches block", "[plans]")
{
  StepSetting s = small_model(1);
  s.memory.model.experts = 4;
  s.memory.model.top_k = 2;
  s.rules.host_per_routing = Seconds(4e-3);
  s.rules = in_effect(s.rules, true);
  s.rules.launch_blocking = true;
  EqualTimes times(Seconds(0));
  const Piece whole = pieces_of(s.memory.model, s.memory.plan).front();
  const Seconds waits = piece_cost(s, whole, times).forward_compute;
  s.rules.dropless = false;
  CHECK((waits - piece_cost(s, whole, times).forward_compute).value() ==
        Approx(4 * 1e-3).epsilon(1e-9));
}

TEST_CASE("where launches block, host and device take turns: the sum of both", "[plans]")
{
  constexpr int kLayers = 3;
  constexpr int kMicroBatches = 4;
  StepSetting s = small_model(kLayers);
  s.device.launches = HostLaunches{.per_operation = Seconds(3e-5), .per_kernel = Seconds(2e-5)};
  s.memory.batch.micro_batches = kMicroBatches;
  s.memory.plan.zero = 0;
  s.memory.recompute = GENERATE(Recompute::none, Recompute::full);
  EqualTimes times(Seconds(0));
  s.rules.launch_blocking = true;
  const test::PlanParts result = test::parts_of_plan(s, times);
  const OperatorShape shape = operator_shape(s);
  const int passes = s.memory.recompute == Recompute::full ? 2 : 1;
  OperatorTime both; // of a micro-batch
  const auto add = [&](const std::vector<Operator>& operators, int forwards) {
    for (int i = 0; i < forwards; ++i)
      both += forward_time(operators, s.device);
    both += backward_time(operators, s.device);
  };
  for (int i = 0; i < kLayers; ++i)
    add(layer_operators(s.memory.model, shape, kDenseLayer), passes);
  add(embedding_operators(s.memory.model, shape), 1);
  add(output_operators(s.memory.model, shape), 1);
  const PieceParameters all = parameters_of(pieces_of(s.memory.model, s.memory.plan).front(),
                                            s.memory.model, s.memory.plan);
  const OperatorTime update = optimizer_time(s, all, kLayers);
  const Seconds optimizer = update.device;
  CHECK((result.compute + result.recompute).value() ==
        Approx((kMicroBatches * both.device).value()).epsilon(1e-9));
  // While the host launches the GPU does nothing.
  CHECK((result.framework - update.idle).value() ==
        Approx((kMicroBatches * both.host).value()).epsilon(1e-9));
  CHECK(optimizer > Seconds(0));
  s.rules.optimizer_kernels = 50;
  CHECK((optimizer_time(s, all, kLayers).device - optimizer).value() ==
        Approx((12.0 * kLayers * 50 * s.device.launches->per_kernel).value()).epsilon(1e-9));
  s.device.launches->checks_per_gradient = 2;
  CHECK((optimizer_time(s, all, kLayers).device - optimizer).value() ==
        Approx((12.0 * kLayers * 52 * s.device.launches->per_kernel).value()).epsilon(1e-9));
  // Launched ahead of the device, of more tensors where queries, keys and values are apart.
  s.rules.launch_blocking = false;
  s.rules.joined_projections = false;
  CHECK(optimizer_time(s, all, kLayers).device == optimizer);
  CHECK(optimizer_time(s, all, kLayers).host.value() ==
        Approx((16.0 * kLayers * 52 * s.device.launches->per_kernel).value()).epsilon(1e-9));
}

} // namespace foretrain::models::host_waits_test
