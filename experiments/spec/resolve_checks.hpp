// Resolved experiments looked over before they run: what cannot be.
#pragma once

#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Whether ranks and servers of the job are on several nodes.
bool spans_nodes(const ResolvedJob& job);

/// Throws ConfigError at `at`, the job, where it has several nodes and its library no network.
void check_library(const ResolvedJob& job, const Value& at);

/// Throws ConfigError in the framework whose algorithm has no such name.
void check_algorithm(const ResolvedJob& job);
/// The same of a program's groups.
void check_algorithms(const Value& program, const std::vector<sim::WorkGroup>& groups);

/// Throws ConfigError when nodes must talk over a network that their adapters cannot carry.
void check_networks(const ResolvedExperiment& e, const Value& root);

/// Throws where a network's tables lie on several GPUs and nothing exchanges their rows.
void check_tables(const ResolvedExperiment& e, const Value& root);

/// Gradients are added up over several batches where a step is forward and backward passes alone.
/// Throws ConfigError.
void check_accumulation(const ResolvedJob& job, const Value& at);

/// What a host layer takes for granted and, between nodes, what its guests' packets pass.
std::vector<std::string> assumptions_of(const platforms::Stack& stack, bool between_nodes);

} // namespace foretrain::experiments
