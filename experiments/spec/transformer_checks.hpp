// What a transformer's job says and its model, plan or precision has no use for.
#pragma once

#include "experiments/spec/experiment.hpp"

namespace foretrain::experiments {

/// What the fullest of so many GPUs gets that share a layer's experts, beside the mean, at the
/// most: it has its share of the E experts, and a token goes to each of them once, so of k choices
/// it gets min(n, E / k).
double most_expert_load(const models::Transformer& t, int gpus);

/// `at`: the job. `optimizer`: the job's, or the default one. Throws ConfigError.
void refuse_idle_of_transformer(const JobSpec& job, const models::Transformer& t,
                                const models::ParallelPlan& plan,
                                const models::Optimizer& optimizer, const Value& at);

} // namespace foretrain::experiments
