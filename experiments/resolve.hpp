// The presets an experiment names, loaded and checked against each other.
#pragma once

#include "experiments/resolve_input.hpp"
#include "models/collectives/collective.hpp"
#include "models/compute_profile.hpp"
#include "platforms/machine.hpp"
#include "platforms/storage.hpp"

namespace foretrain::experiments {

struct ResolvedJob {
  JobSpec spec;
  platforms::Stack stack;
  models::Network network;
  models::Framework framework;
  models::Library library;
  models::Device device;
  models::ComputeProfile profile; // anchored, if the job has an anchor
  double anchor_factor = 1;       // by which the anchor stretched the profile
  ResolvedInput input;
  std::vector<platforms::GpuPlace> ranks;
  bool parameter_servers = false; // instead of an all-reduce
  std::vector<int> server_nodes;  // of each parameter server; none with all-reduce
  std::vector<std::string> warnings;
  int measured_steps = 20;
};

struct ResolvedExperiment {
  ExperimentSpec spec;
  platforms::PlatformSpec platform;
  platforms::Stack stack;                    // jobs may have others
  std::optional<platforms::Storage> storage; // absent: no job reads anything
  Value storage_at;                          // for messages
  int nodes = 1;
  std::vector<ResolvedJob> jobs;
  std::vector<PresetUse> presets; // everything that was named, each once
};

/// Throws ConfigError when names are unknown, GPUs do not fit the nodes, a precision is not there
/// ...
ResolvedExperiment resolve(const Point& point);

} // namespace foretrain::experiments
