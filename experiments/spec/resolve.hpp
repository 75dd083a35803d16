// The presets an experiment names, loaded and checked against each other.
#pragma once

#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Throws ConfigError when names are unknown, GPUs do not fit the nodes, a precision is not there
/// ...
ResolvedExperiment resolve(const Point& point);

/// Steps that are simulated of a job that says none.
int default_steps(int gpus);

/// Fills in what the file leaves to its default: the experiment's stack for a job, bare metal and
/// the adapters' own transport for the experiment.
platforms::Stack resolve_stack(StackSpec& spec, const StackSpec* experiment,
                               const platforms::PlatformSpec& platform, const Value& root);

/// The point's document with an overlay that notes which presets are resolved.
Point noting_presets(const Point& point, const std::shared_ptr<std::vector<PresetUse>>& uses);

} // namespace foretrain::experiments
