// How fast jobs run where they are, beside whom they are: simulated by what `predict` simulates
// with, once for each situation.
#pragma once

#include "experiments/spec/resolved.hpp"
#include "models/fleet/simulation.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace foretrain::experiments {

/// Jobs that do the same on as many GPUs.
struct SpeedKind {
  Value job; // as in an experiment
  int gpus = 1;
};

/// The kind of jobs whose run times are given: they go at rate 1 and disturb nobody.
inline constexpr std::uint32_t kNoSpeed = ~std::uint32_t{0};

/// What all situations have in common.
struct SpeedCluster {
  DocumentPtr document; // that names presets
  Json cluster;         // as in an experiment, without nodes
  Json stack;           // null: none
  models::fleet::ClusterShape shape;
};

/// Samples per second of the jobs of each situation, by its name.
using Situations = std::map<std::string, std::vector<double>>;

class SpeedTable {
public:
  explicit SpeedTable(SpeedCluster cluster);

  /// The number of a kind, new or known.
  std::uint32_t kind(const SpeedKind& kind);
  /// Samples per second of a kind that has the cluster to itself, packed on the first nodes.
  double reference(std::uint32_t kind);
  /// Samples of a step of all its GPUs, and of an epoch.
  double step_samples(std::uint32_t kind) const;
  double epoch_samples(std::uint32_t kind) const;
  /// Of a checkpoint of all its GPUs together; none where nobody knows what it trains.
  std::optional<Bytes> checkpoint_bytes(std::uint32_t kind) const;
  /// Samples per second of jobs that share nodes, in their order.
  std::vector<double> throughputs(const std::vector<std::uint32_t>& kinds,
                                  const std::vector<models::fleet::Allocation>& gpus);
  /// Rates of the jobs of a workload, where 1 is the reference of their kind.
  models::fleet::Speeds speeds(const models::fleet::Workload& workload);

  /// Of the cluster, where jobs are placed that have it to themselves.
  void set_nodes(int nodes) { cluster_.shape.nodes = nodes; }

  std::size_t situations() const { return known_.size(); }
  const Situations& known() const { return known_; }
  /// What was simulated elsewhere.
  void learn(const std::string& situation, std::vector<double> speeds)
  {
    known_.emplace(situation, std::move(speeds));
  }

private:
  Point point_of(const Json& jobs, int nodes) const;
  Json job_json(std::uint32_t kind) const;
  ResolvedExperiment resolved(Json job, int gpus) const;

  SpeedCluster cluster_;
  std::vector<SpeedKind> kinds_;
  std::map<std::string, std::uint32_t> kind_numbers_;
  Situations known_;
};

} // namespace foretrain::experiments
