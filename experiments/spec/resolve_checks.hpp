// Resolved experiments looked over before they run: what cannot be, and what is easily overlooked.
#pragma once

#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Throws ConfigError when nodes must talk over a network that their adapters cannot carry.
void check_networks(const ResolvedExperiment& e, const Value& root);

/// Throws where a network's tables lie on several GPUs and nothing exchanges their rows.
void check_tables(const ResolvedExperiment& e, const Value& root);

/// Gradients are added up over several batches where a step is forward and backward passes alone.
/// Throws ConfigError.
void check_accumulation(const ResolvedJob& job, const Value& at);

/// Warns of what moves a step most, where the job at `at` and its framework do not say it.
void remark_untold(ResolvedJob& job, const Value& at, const platforms::Gpu& gpu);

/// What a host layer takes for granted and, between nodes, what its guests' packets pass.
std::vector<std::string> assumptions_of(const platforms::Stack& stack, bool between_nodes);

/// Whether a framework's code is older than the GPU's architecture.
bool predates(const models::Framework& framework, const platforms::Gpu& gpu);

/// Adds to the jobs' warnings: GPUs and limits that ask for more memory or cores than there are,
/// and networks over a slow adapter beside a fast one.
void add_remarks(ResolvedExperiment& experiment);

} // namespace foretrain::experiments
