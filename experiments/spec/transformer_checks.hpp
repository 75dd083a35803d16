// What a transformer's job says and its model, plan or precision has no use for.
#pragma once

#include "experiments/spec/experiment.hpp"

namespace foretrain::experiments {

/// `at`: the job. `optimizer`: the job's, or the default one. Throws ConfigError.
void refuse_idle_of_transformer(const JobSpec& job, const models::Transformer& t,
                                const models::ParallelPlan& plan,
                                const models::Optimizer& optimizer, const Value& at);

} // namespace foretrain::experiments
