// The step of a large model: what its pieces compute and exchange, and how long it takes.
#pragma once

#include "models/plans/pipeline.hpp"
#include "models/plans/step_setting.hpp"

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

struct StepResult {
  StepParts parts;
  Seconds step;
  int stage = 0; // the busiest one
  PipelineRun run;
  double compute_from_tables = 1; // share of compute by measured curves
};

StepResult large_step(const StepSetting& setting, ExchangeTimes& exchanges);

} // namespace foretrain::models
