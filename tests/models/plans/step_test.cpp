// The step of a large model where exchanges take what the test says.
#include "models/plans/step.hpp"

#include <catch2/catch.hpp>

#include <cmath>

namespace foretrain::models {

namespace {

// Every exchange takes as long, in groups of two.
class EqualTimes final : public ExchangeTimes {
public:
  explicit EqualTimes(Seconds each) : each_(each) {}
  Seconds time(PlanGroup, Operation, Bytes) override { return each_; }
  int ranks(PlanGroup) const override { return 2; }

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

TEST_CASE("the slowest of n GPUs lies sqrt(2 ln n) deviations above the mean", "[plans]")
{
  StepSetting s = small_model(4);
  s.variation = 0.01;
  EqualTimes times(kExchange);
  for (const int gpus : {2, 64, 4096}) {
    s.memory.batch.gpus = s.memory.batch.data = gpus;
    const StepParts parts = large_step(s, times).parts;
    CHECK((parts.straggler / parts.compute) ==
          Approx(0.01 * std::sqrt(2 * std::log(gpus))).epsilon(1e-9));
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

} // namespace foretrain::models
