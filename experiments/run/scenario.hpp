// One point brought to life: platform, stack and jobs in one engine, run, and looked at.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/resolved.hpp"
#include "models/fleet/checkpoint.hpp"

namespace foretrain::experiments {

/// Simulates a point. Throws ConfigError for what does not fit together.
PointResult run_point(const Point& point, const RunOptions& options);

/// Median throughput of each job in samples per second, the same as run_point's.
std::vector<double> point_throughputs(const Point& point, const RunOptions& options);

/// Share that is used of a link or a part that no node has to itself.
struct FabricUse {
  std::string resource; // of leaf switches' uplinks the same for all switches of a network
  int first_below = -1; // of such an uplink: the first node below its switch
  double share = 0;
  bool operator==(const FabricUse&) const = default;
};

/// Where checkpoints are written to: a storage, or memory of each node and of the job's next one.
struct CheckpointTarget {
  Value storage;
  bool in_memory = false;
};

/// Checkpoints that are written or read, over and over, while rates are measured.
struct CheckpointTransfers {
  std::vector<models::fleet::Transfer> jobs; // by each job
  CheckpointTarget to;                       // and from; nothing: there are none
};

struct PointRates {
  /// Of each job in samples per second, the same as run_point's where no checkpoint is written.
  std::vector<double> throughputs;
  std::vector<double> transfers; // of each job's checkpoint, in bytes per second; 0: it has none
  std::vector<FabricUse> fabric; // by all of them
  bool operator==(const PointRates&) const = default;
};
PointRates point_rates(const Point& point, const RunOptions& options,
                       const CheckpointTransfers& checkpoints = {});

/// Throughput of each job in samples per second, of a run that compares, without anything else that
/// run_point finds out.
std::vector<double> quick_throughputs(const Point& point, const RunOptions& options);

} // namespace foretrain::experiments
