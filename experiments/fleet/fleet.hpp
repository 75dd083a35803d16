// A fleet file, read and simulated, once for each seed.
#pragma once

#include "experiments/fleet/fleet_spec.hpp"
#include "experiments/fleet/speed_table.hpp"
#include "experiments/run/work_part.hpp"
#include "models/fleet/leases.hpp"
#include "models/fleet/simulation.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace foretrain::experiments {

struct LoadedFleet {
  FleetSpec spec;
  std::shared_ptr<const Document> document;
  models::fleet::ClusterShape shape; // with spares
  std::optional<double> price;       // of a GPU for an hour
  models::fleet::Policy policy;
  std::string policy_name;                    // as the file or --policy has it
  std::shared_ptr<const JobTrace> trace;      // of recorded jobs; null where jobs are drawn
  std::vector<models::fleet::Lease> leases;   // of its jobs, where the policy replays them
  std::vector<models::fleet::Outage> outages; // of a trace of failures
  std::vector<std::filesystem::path> files;   // that it names: jobs, leases, failures
  double interval_scale = 1;                  // of checkpoints, of the best interval by formula
};

/// Traces that were read, by path, kind and what is taken of them.
using FleetTraces =
    std::map<std::tuple<std::string, TraceKind, TakeJobs>, std::shared_ptr<const JobTrace>>;

/// A fleet as a document without a sweep says, with the traces that it names; one that is known
/// is not read again. Throws ConfigError.
LoadedFleet read_fleet(const std::shared_ptr<Document>& document, FleetTraces& known);

/// A fleet with one value of each entry of its sweep.
struct FleetPoint {
  Settings settings;
  LoadedFleet fleet;
};

/// A fleet file with all points of its sweep; without one a single point without settings.
struct FleetFile {
  std::string name;
  std::shared_ptr<const Document> document; // with its sweep
  std::vector<FleetPoint> points;           // first entry of the sweep slowest
  bool swept() const { return !points.front().settings.empty(); }
};

/// Reads a file, applies --set overrides and --policy (a name; "": the file's), which the sweep
/// then no longer varies, and reads the traces that it names, each once. All points have been read:
/// a wrong value is found before anything runs. Throws ConfigError and UsageError.
FleetFile load_fleet_file(const std::string& name_or_path,
                          const std::vector<std::string>& overrides, const std::string& policy);

/// The same of a document that was built or read.
FleetFile load_fleet_file(const std::shared_ptr<Document>& document,
                          const std::vector<std::string>& overrides, const std::string& policy);

/// Of a file without a sweep; throws ConfigError where it has one of several points.
LoadedFleet load_fleet(const std::string& name_or_path, const std::vector<std::string>& overrides,
                       const std::string& policy);

class KeptSeeds;

/// One simulation.
struct FleetRun {
  std::uint64_t seed = 1;
  models::fleet::Workload workload;
  models::fleet::FleetResult result;
  int situations = 0;        // of jobs that were simulated together, in this seed and those before
  double interval_scale = 1; // of checkpoints, where simulations found the best interval
  std::vector<std::string> misfits{}; // jobs whose speed is simulated and whom no GPU holds
};

struct FleetOptions {
  std::uint64_t seed = 1;
  int seeds = 1;
  bool history = false; // of the first seed: who held what
  /// Called now and then: seeds that are done, and jobs of this one that have ended, of so many.
  /// False stops it all.
  std::function<bool(int seeds, std::size_t ended, std::size_t jobs)> progress;
  std::string policy_command{}; // decides who starts (policy_command.hpp); "": the policy does
  int jobs = 1;                 // seeds at a time, in processes; a policy's command decides alone
  KeptSeeds* kept = nullptr;    // where seeds are that need not be simulated again; null: nowhere
  WorkPart part{};              // of the seeds, by their index
};

/// The first seed and how many, as the fleet's file says.
FleetOptions options_of(const FleetSpec& spec);

/// What fleets of one platform, storage and stack know of speeds: what one of them has simulated
/// the others need not.
class SpeedTables {
public:
  /// The table for a fleet, with its number of nodes.
  SpeedTable& of(const LoadedFleet& fleet);

private:
  std::map<std::string, SpeedTable> tables_; // by what they depend on
};

std::vector<FleetRun> run_fleet(const LoadedFleet& fleet, const FleetOptions& options);
std::vector<FleetRun> run_fleet(const LoadedFleet& fleet, const FleetOptions& options,
                                SpeedTables& tables);

} // namespace foretrain::experiments
