// How a parallel plan is written: as keys of a job, and in words.
#pragma once

#include "models/plans/parallel.hpp"
#include "sim/base/json.hpp"

#include <string>

namespace foretrain::experiments {

/// "parallel" of a job.
Json parallel_json(const models::ParallelPlan& plan);

/// "3 within nodes": who shares what.
std::string zero_text(const models::ParallelPlan& plan);

/// "none", "full", or "3 layers".
std::string recompute_text(const std::string& recompute, std::optional<int> layers);

/// "tensor 2, pipeline 4, zero 1, micro-batch 1, full recomputation"
std::string plan_name(const models::ParallelPlan& plan, int micro_batch,
                      const std::string& recompute, std::optional<int> recompute_layers);

} // namespace foretrain::experiments
