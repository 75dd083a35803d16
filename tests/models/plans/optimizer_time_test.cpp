// How long an update takes: what it moves, on the device and on the host, and of which part.
#include "models/plans/optimizer_time.hpp"

#include "models/plans/pipeline.hpp"
#include "models/plans/stages.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/small_plan.hpp"

namespace foretrain::models::optimizer_time_test {

using test::small_model;

TEST_CASE("shards that are copied one by one take time by their number", "[plans]")
{
  constexpr int kLayers = 3;
  StepSetting s = small_model(kLayers);
  s.memory.batch.data = 8;
  const auto all = [&] {
    return parameters_of(pieces_of(s.memory.model, s.memory.plan).front(), s.memory.model,
                         s.memory.plan);
  };
  const auto more = [&] {
    s.rules.host_per_shard = Seconds(0);
    const Seconds without = optimizer_time(s, all(), kLayers).device;
    s.rules.host_per_shard = Seconds(1e-5);
    return (optimizer_time(s, all(), kLayers).device - without).value();
  };
  CHECK(more() == 0); // each GPU has the whole optimizer
  s.memory.plan.zero = 1;
  CHECK(more() == Approx(12 * kLayers * 8 * 1e-5)); // weights and biases of 4 products, 2 norms
  s.memory.plan.context = 2;
  CHECK(more() == Approx(12 * kLayers * 16 * 1e-5));
  s.memory.model.bias = false;
  CHECK(more() == Approx(6 * kLayers * 16 * 1e-5));
  s.memory.per_node = 4;
  s.memory.plan.shard = ZeroShard::node;
  CHECK(more() == Approx(6 * kLayers * 4 * 1e-5));
  s.memory.plan.shard = ZeroShard::all;
  s.memory.batch.data = 1;
  s.memory.plan.context = 1;
  CHECK(more() == 0);
}

TEST_CASE("an optimizer in host memory takes its copies and its share of the memory", "[plans]")
{
  StepSetting s = small_model(1);
  s.rules.optimizer_bytes = 10;
  s.host_link = BytesPerSecond(1e10);
  s.host_memory = BytesPerSecond(2e10);
  s.rules.host_optimizer_bytes = 40;
  PieceParameters trained;
  trained.shared = 1e9;
  CHECK(optimizer_time(s, trained, 1).device.value() == Approx(10e9 / 1e12));
  s.memory.state.offload = 0.25; // 6 bytes over the link, 40 in memory
  CHECK(optimizer_time(s, trained, 1).device.value() ==
        Approx(0.75 * 10e9 / 1e12 + 0.25e9 * 6 / 1e10 + 0.25e9 * 40 / 2e10));
}

TEST_CASE("optimizers of experts are shared among the GPUs that hold the same ones", "[plans]")
{
  StepSetting s = small_model(1);
  s.rules.optimizer_bytes = 10;
  s.memory.plan.zero = 1;
  s.memory.plan.expert = 4;
  s.memory.batch.gpus = s.memory.batch.data = 8;
  PieceParameters trained;
  trained.shared = 8e9;
  trained.experts = 1e9; // of each GPU: two hold the same
  CHECK(optimizer_time(s, trained, 1).device.value() == Approx((1e9 + 0.5e9) * 10 / 1e12));
  s.memory.plan.zero = 0;
  CHECK(optimizer_time(s, trained, 1).device.value() == Approx(9e9 * 10 / 1e12));
}

} // namespace foretrain::models::optimizer_time_test
