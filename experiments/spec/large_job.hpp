// Jobs of large models: a transformer under a parallel plan.
#pragma once

#include "experiments/spec/experiment.hpp"
#include "models/collectives/library.hpp"
#include "models/plans/step.hpp"
#include "platforms/machine.hpp"

#include <optional>

namespace foretrain::experiments {

struct LargeJob {
  JobSpec spec;
  models::TransformerFile model;
  models::Framework framework;
  models::Library library;
  models::StepSetting setting;
  std::optional<double> tokens; // to train on
  std::vector<std::string> warnings;
};

/// An experiment whose one job is that of a large model.
struct LargeExperiment {
  platforms::PlatformSpec platform;
  platforms::Stack stack;
  ExperimentSpec spec;
  int nodes = 1;
  int gpus_per_node = 1; // that the job has on each of its nodes
  LargeJob job;
  std::vector<PresetUse> presets; // everything that was named, each once
};

/// Whether the point's one job is that of a transformer: it is composed of exchanges and may be
/// divided. Beside other jobs a transformer is whole on each GPU and runs like any network.
bool is_large(const Point& point);

/// Throws ConfigError for what does not divide, does not exist or is missing.
LargeExperiment resolve_large(const Point& point);

} // namespace foretrain::experiments
