// The step of a large model: what its pieces compute and exchange, in which order.
#pragma once

#include "models/plans/piece_cost.hpp"
#include "models/plans/pipeline.hpp"

namespace foretrain::models {

/// What a stage does once a step, beside its micro-batches.
struct StageEnds {
  Exposure parameters; // shared-out ones, before the first forward pass
  Exposure gradients;  // after the last backward pass
  Seconds optimizer;
  Seconds idle; // of it, in which GPUs wait for what hosts do
};

struct PlannedStep {
  PipelineSetting pipeline;
  PipelineRun run;
  std::vector<PieceCost> pieces; // in forward order
  std::vector<StageEnds> ends;   // of each stage
};

PlannedStep plan_step(const StepSetting& setting, ExchangeTimes& exchanges);

} // namespace foretrain::models
