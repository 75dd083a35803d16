// Input of GPUs that do the same, as that of one of them: where all of a class ask for a batch at
// once and load what they share alike, max-min fairness gives each the same rate, and one flow
// with the weights of all takes what all of them take.
#pragma once

#include "models/input/input_pipeline.hpp"
#include "sim/engine/engine.hpp"

#include <vector>

namespace foretrain::experiments {

/// The stages of each GPU of a job.
using GpuStages = std::vector<std::vector<models::InputStage>>;

/// Sets GPUs `apart` whose stages load resources otherwise than most of those that were not, and
/// such as do not stand in one row with most of them.
void keep_alike(const sim::Engine& engine, const GpuStages& stages, std::vector<bool>& apart);

/// The stages of GPU `first`, on each resource of which come the loads of those of all `count` GPUs
/// from it on.
std::vector<models::InputStage> folded_stages(const GpuStages& stages, int first, int count);

} // namespace foretrain::experiments
