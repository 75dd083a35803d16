// When each stage of a pipeline does what: schedules of micro-batches and their dates.
#pragma once

#include "models/plans/pipeline_setting.hpp"

#include <vector>

namespace foretrain::models {

struct PipelineRun {
  Seconds end;                                    // of the last stage to finish
  std::vector<Seconds> ends;                      // of each stage
  std::vector<Seconds> busy;                      // of each stage
  std::vector<std::vector<PipelineSlice>> slices; // of each stage, in order
};

/// Order of work on each stage: GPipe (arXiv:1811.06965); 1F1B (PipeDream-flush) and interleaved
/// (arXiv:2104.04473); zero-bubble ZB-H1 (arXiv:2401.10241), which is 1F1B with the gradients of
/// weights put off into the waits; those of v_schedules.hpp.
StageOrders stage_orders(const PipelineSetting& setting);

PipelineRun run_pipeline(const PipelineSetting& setting);

} // namespace foretrain::models
