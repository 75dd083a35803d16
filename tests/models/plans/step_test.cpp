// The step of a large model where exchanges take what the test says.
#include "models/plans/step.hpp"

#include "models/plans/piece_cost.hpp"
#include "sim/base/normal_scores.hpp"

#include <catch2/catch.hpp>

namespace foretrain::models {

namespace {

// Every exchange takes as long, in groups of two.
class EqualTimes final : public ExchangeTimes {
public:
  explicit EqualTimes(Seconds each) : each_(each) {}
  Seconds time(PlanGroup, Operation, Bytes) override { return each_; }
  int ranks(PlanGroup) const override { return 2; }
  Seconds transfer(int, Bytes) override { return Seconds(1e-4); }

private:
  Seconds each_;
};

StepSetting small_model(int layers)
{
  StepSetting s;
  s.memory.model.layers = layers;
  s.memory.model.hidden = 1024;
  s.memory.model.heads = 16;
  s.memory.model.vocabulary = 32000;
  s.memory.batch.gpus = 2;
  s.memory.batch.data = 2;
  s.device.half.peak = s.device.attention.peak = 100e12;
  s.device.half.memory = s.device.attention.memory = 1e12;
  s.device.memory = BytesPerSecond(1e12);
  s.variation = 0;
  return s;
}

constexpr Seconds kExchange{1e-4};

} // namespace

TEST_CASE("what overlaps costs the work beside it, what is left of it waits", "[plans]")
{
  constexpr int kLayers = 8;
  StepSetting s = small_model(kLayers);
  s.rules.overlap_cost = 0.25;
  EqualTimes times(kExchange);
  // The last layer's share comes after backward; the others' ride beside it.
  const Seconds tail = kExchange / kLayers;
  const StepResult result = large_step(s, times);
  CHECK(result.parts.data.value() ==
        Approx((tail + 0.25 * (kExchange - tail)).value()).epsilon(1e-9));
  s.rules.overlap_gradients = false;
  CHECK(large_step(s, times).parts.data.value() == Approx(kExchange.value()).epsilon(1e-9));
}

TEST_CASE("a step waits for the slowest of its GPUs, of one kind and from step to step", "[plans]")
{
  StepSetting s = small_model(4);
  s.variation = 0.003;
  s.speed_variation = 0.004;
  EqualTimes times(kExchange);
  for (const int gpus : {1, 2, 64, 4096}) {
    s.memory.batch.gpus = s.memory.batch.data = gpus;
    const StepParts parts = large_step(s, times).parts;
    CHECK((parts.straggler / parts.compute) ==
          Approx(0.005 * sim::largest_normal_score(gpus)).epsilon(1e-9).margin(1e-12));
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
  CHECK(large_step(s, times).parts.expert.value() ==
        Approx(4 * kLayers * kExchange.value()).epsilon(1e-9));
}

TEST_CASE("weights that are shared out are copied where the framework does so", "[plans]")
{
  constexpr int kLayers = 4;
  StepSetting s = small_model(kLayers);
  s.memory.plan.zero = 3;
  s.memory.shard = 2;
  EqualTimes times(Seconds(0));
  const Seconds without = large_step(s, times).parts.compute;
  s.rules.gather_bytes = 4;
  s.rules.reduce_bytes = 6;
  const double parameters = models::parameters(s.memory.model).total();
  // Gathered in both passes, reduced once.
  const double copied = (2 * 4 + 6) * parameters / s.device.memory.value();
  CHECK((large_step(s, times).parts.compute - without).value() == Approx(copied).epsilon(1e-6));
  s.memory.plan.zero = 1;
  CHECK(large_step(s, times).parts.compute == without);
}

TEST_CASE("a host that waits in each micro-batch does not run ahead over the logits", "[plans]")
{
  StepSetting s = small_model(2);
  s.device.host_per_kernel = Seconds(1e-3); // launches are the limit in the layers
  s.memory.model.vocabulary = 4'000'000;    // and the device in the logits
  s.memory.batch.micro_batches = 3;
  EqualTimes times(Seconds(0));
  const StepParts ahead = large_step(s, times).parts;
  constexpr Seconds kWait{5e-3};
  s.rules.host_per_micro_batch = kWait;
  const StepParts waits = large_step(s, times).parts;
  const OperatorShape shape = operator_shape(s);
  OperatorTime body = forward_time(embedding_operators(s.memory.model, shape), s.device);
  for (int layer = 0; layer < 2; ++layer)
    body += forward_time(layer_operators(s.memory.model, shape, false), s.device);
  const OperatorTime output = forward_time(output_operators(s.memory.model, shape), s.device);
  REQUIRE(body.host > body.device);
  REQUIRE(output.device > output.host);
  // The logits start when the layers are done instead of filling the device's gaps there.
  const Seconds gaps = body.host - body.device;
  CHECK((waits.compute - ahead.compute).value() ==
        Approx((3 * (kWait + gaps)).value()).epsilon(1e-9));
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
  const auto run = [&](double rate) {
    RateTimes times(rate);
    return large_step(s, times);
  };
  // Alike gradients: the first stage's come last.
  StepResult step = run(1e12);
  CHECK(step.last_stage == 0);
  CHECK(step.stage == 1);
  const Seconds optimizer = std::max(step.ends[0].optimizer, step.ends[1].optimizer);
  CHECK((step.step - step.parts.framework - optimizer).value() ==
        Approx((step.run.ends[0] + step.ends[0].gradients.exposed).value()).epsilon(1e-12));
  // Five layers on the last stage: on a slow network its gradients take longer than it is ahead.
  s.memory.plan.last_stage_layers = 6;
  step = run(1e7);
  CHECK(step.last_stage == 1);
  CHECK((step.gradients_done - step.run.ends[1]).value() ==
        Approx(step.ends[1].gradients.exposed.value()).epsilon(1e-12));
}

} // namespace foretrain::models
