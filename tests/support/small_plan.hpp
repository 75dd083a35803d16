// A small model whose exchanges all take as long.
#pragma once

#include "models/plans/step_setting.hpp"

namespace foretrain::test {

/// Every exchange takes as long, in groups of two.
class EqualTimes final : public models::ExchangeTimes {
public:
  explicit EqualTimes(Seconds each) : each_(each) {}
  Seconds time(models::PlanGroup, models::Operation, Bytes) override { return each_; }
  int ranks(models::PlanGroup) const override { return 2; }
  Seconds transfer(int, Bytes) override { return Seconds(1e-4); }

private:
  Seconds each_;
};

/// Of `layers` layers of 1,024 values on two GPUs that differ in no step.
inline models::StepSetting small_model(int layers)
{
  models::StepSetting s;
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

} // namespace foretrain::test
