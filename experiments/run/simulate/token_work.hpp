// What a transformer's job does in tokens.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "models/plans/step_setting.hpp"

namespace foretrain::experiments {

TokenWork token_work(const models::StepSetting& setting);

/// What follows from the work and the throughput of a job that has `tokens`.
void add_token_rates(JobResult& job);

} // namespace foretrain::experiments
