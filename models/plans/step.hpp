// The step of a large model: what its pieces compute and exchange, and how long it takes.
#pragma once

#include "models/plans/piece_cost.hpp"
#include "models/plans/pipeline.hpp"

namespace foretrain::models {

/// Parts of a step of the busiest stage; they add up.
struct StepParts {
  Seconds compute;
  Seconds recompute;
  Seconds tensor, context, expert, pipeline, data; // exposed exchanges
  Seconds bubble;
  Seconds optimizer;
  Seconds straggler;
  Seconds framework;
  Seconds total() const
  {
    return compute + recompute + tensor + context + expert + pipeline + data + bubble + optimizer +
           straggler + framework;
  }
  Seconds exposed() const { return tensor + context + expert + pipeline + data; }
};

/// What a stage does once a step, beside its micro-batches.
struct StageEnds {
  Exposure parameters; // shared-out ones, before the first forward pass
  Exposure gradients;  // after the last backward pass
  Seconds optimizer;
};

struct StepResult {
  StepParts parts;
  Seconds step;
  int stage = 0;          // the busiest one
  int last_stage = 0;     // whose gradients are summed up last
  Seconds begin;          // of the first pass: its stage has its parameters
  Seconds gradients_done; // of all stages: the optimizer begins
  PipelineSetting pipeline;
  PipelineRun run;
  std::vector<PieceCost> pieces; // in forward order
  std::vector<StageEnds> ends;   // of each stage
};

StepResult large_step(const StepSetting& setting, ExchangeTimes& exchanges);

/// Of one GPU's share of `trained` parameters in so many layers: what it moves, or its launches.
Seconds optimizer_time(const StepSetting& setting, const PieceParameters& trained, int layers);

} // namespace foretrain::models
