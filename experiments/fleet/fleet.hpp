// A fleet file, read and simulated, once for each seed.
#pragma once

#include "experiments/fleet/fleet_spec.hpp"
#include "models/fleet/simulation.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace foretrain::experiments {

struct LoadedFleet {
  FleetSpec spec;
  std::shared_ptr<const Document> document;
  models::fleet::ClusterShape shape; // with spares
  models::fleet::Policy policy;
  std::string policy_name;                    // as the file or --policy has it
  JobTrace trace;                             // of recorded jobs; empty where jobs are drawn
  std::vector<models::fleet::Outage> outages; // of a trace of failures
};

/// Reads a file, applies --set overrides and --policy (a name; "": the file's), and reads the
/// traces that it names. Throws ConfigError and UsageError.
LoadedFleet load_fleet(const std::string& name_or_path, const std::vector<std::string>& overrides,
                       const std::string& policy);

/// One simulation.
struct FleetRun {
  std::uint64_t seed = 1;
  models::fleet::Workload workload;
  models::fleet::FleetResult result;
  int situations = 0; // of jobs that were simulated together, in this seed and those before
};

struct FleetOptions {
  std::uint64_t seed = 1;
  int seeds = 1;
  bool history = false; // of the first seed: who held what
  /// Called now and then: seeds that are done, and jobs of this one that have ended, of so many.
  /// False stops it all.
  std::function<bool(int seeds, std::size_t ended, std::size_t jobs)> progress;
  std::string policy_command{}; // decides who starts (policy_command.hpp); "": the policy does
};

std::vector<FleetRun> run_fleet(const LoadedFleet& fleet, const FleetOptions& options);

} // namespace foretrain::experiments
