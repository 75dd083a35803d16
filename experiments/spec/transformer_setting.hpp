// A job's transformer with its plan, batch, device and framework: what its step is made from.
#pragma once

#include "experiments/spec/experiment.hpp"
#include "models/plans/step_setting.hpp"
#include "platforms/machine.hpp"

#include <optional>

namespace foretrain::experiments {

struct TransformerSetting {
  models::TransformerFile model;
  models::StepSetting step;
  std::optional<double> tokens; // to train on
  std::vector<std::string> warnings;
};

/// Relative standard deviation of the time that kernels take, averaged over those of a model.
double kernel_spread(const TransformerSetting& setting);

/// Whether a job's model is told by a transformer's dimensions.
bool has_transformer(const JobSpec& job);

/// Throws ConfigError at the job for what does not divide, does not exist or is missing.
TransformerSetting transformer_setting(const JobSpec& job, const Value& at,
                                       const models::Framework& framework,
                                       const platforms::PlatformSpec& platform,
                                       const platforms::Stack& stack, int gpus_per_node);

/// Whether a transformer's job can say its length in passes over its data set: that of images has
/// as many samples as files; how many text makes is the length of its sequences.
bool counts_epochs(const JobSpec& job);

/// Samples of a step of all its GPUs: with "batch_per_gpu" so many of each replica of the model.
int global_batch_of(const JobSpec& job);

/// What the fullest GPU's experts get and what all of them take, under the plan in `memory`.
void use_routing(models::MemorySetting& memory, const RoutingSpec& routing);

/// Whether a plan divides the model; else it is whole on each GPU.
bool divides(const models::ParallelPlan& plan);

} // namespace foretrain::experiments
