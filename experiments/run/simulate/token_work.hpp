// What a transformer's job does in tokens.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "models/plans/step_setting.hpp"

namespace foretrain::experiments {

/// `wanted`: tokens to train on; `gpu_price`: of an hour of one GPU; where they are told.
TokenWork token_work(const models::StepSetting& setting, std::optional<double> wanted,
                     std::optional<double> gpu_price);

/// What follows from the work and the throughput of a job that has `tokens`.
void add_token_rates(JobResult& job);

} // namespace foretrain::experiments
