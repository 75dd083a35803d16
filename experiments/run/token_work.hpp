// What a transformer's job does in tokens.
#pragma once

#include "experiments/run/result.hpp"
#include "models/plans/step_setting.hpp"

namespace foretrain::experiments {

/// `wanted`: tokens to train on; `gpu_price`: of an hour of one GPU; where they are told.
TokenWork token_work(const models::StepSetting& setting, std::optional<double> wanted,
                     std::optional<double> gpu_price);

/// Of a job that has `tokens`.
Range tokens_per_s(const JobResult& job);
/// Of one GPU, at median throughput, when a step of the whole job is `of_step`.
FlopsPerSecond model_rate(const JobResult& job, Flops of_step);

} // namespace foretrain::experiments
