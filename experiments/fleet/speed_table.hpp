// How fast jobs run where they are, beside whom they are: simulated by what `predict` simulates
// with, once for each situation.
#pragma once

#include "experiments/run/scenario.hpp"
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
  int nodes_per_leaf = 0;    // below a switch of the network; 0: one switch for all
  bool file_servers = false; // the storage is behind the network
  CheckpointTarget checkpoints;
  bool checkpoint_servers = false; // a storage behind the network
};

/// A job of a situation.
struct SpeedJob {
  std::uint32_t kind = 0;
  models::fleet::Allocation gpus;
  bool first_pass = false; // over its data set
  models::fleet::Transfer transfer = models::fleet::Transfer::none;
};

/// What was simulated of situations, by their names.
using Situations = std::map<std::string, PointRates>;

class SpeedTable {
public:
  explicit SpeedTable(SpeedCluster cluster);

  /// The number of a kind, new or known.
  std::uint32_t kind(const SpeedKind& kind);
  /// What its speed depends on, as one short text: presets, data files, the program.
  std::string fingerprint(std::uint32_t kind) const;
  /// Samples per second of a kind that has the cluster to itself, packed on the first nodes; its
  /// data in caches as far as these hold them.
  double reference(std::uint32_t kind);
  /// Of such a job whose reference is 1: how long it reads data that nobody has cached.
  models::fleet::FirstPass first_pass(std::uint32_t kind);
  /// Samples of a step of all its GPUs, and of an epoch.
  double step_samples(std::uint32_t kind) const;
  double epoch_samples(std::uint32_t kind) const;
  /// Samples of a transformer's training of so many tokens, a number or a text like "1T"; none of
  /// other models.
  std::optional<double> samples_of_tokens(std::uint32_t kind, const Json& tokens) const;
  /// Of a checkpoint of all its GPUs together; none where nobody knows what it trains.
  std::optional<Bytes> checkpoint_bytes(std::uint32_t kind) const;
  /// What a write or a read of the whole checkpoint takes a kind that has the cluster to itself,
  /// packed.
  Seconds transfer_time(std::uint32_t kind, Bytes checkpoint, models::fleet::Transfer transfer);
  /// Of jobs that meet, in their order.
  PointRates rates(const std::vector<SpeedJob>& jobs);
  /// Rates of the jobs of a workload, where 1 is the reference of their kind.
  models::fleet::Speeds speeds(const models::fleet::Workload& workload);

  /// Kinds that need more device memory than a GPU has, in words.
  std::vector<std::string> misfits() const;

  /// Of the cluster, where jobs are placed that have it to themselves.
  void set_nodes(int nodes) { cluster_.shape.nodes = nodes; }

  std::size_t situations() const { return known_.size(); }
  const Situations& known() const { return known_; }
  /// What was simulated elsewhere.
  void learn(const std::string& situation, PointRates rates)
  {
    known_.emplace(situation, std::move(rates));
  }

private:
  std::vector<std::size_t> in_order(const std::vector<SpeedJob>& jobs) const;
  Point point_of(const Json& jobs, const std::vector<std::uint32_t>& kinds, int nodes) const;
  Json job_json(std::uint32_t kind) const;
  Point alone(Json job, std::uint32_t kind) const;
  SpeedJob packed(std::uint32_t kind, bool first_pass = false,
                  models::fleet::Transfer transfer = models::fleet::Transfer::none) const;
  const PointRates& simulated(const std::vector<SpeedJob>& jobs);
  bool may_share(const SpeedJob& job) const;
  std::vector<models::fleet::SharedUse> shared_by(const SpeedJob& job);

  SpeedCluster cluster_;
  struct Kind {
    SpeedKind does;
    std::string name; // the same in every process
    InputSpec input;
    bool reads() const { return input.format != InputFormat::synthetic; }
  };
  std::vector<Kind> kinds_;
  std::map<std::string, std::uint32_t> kind_numbers_, resource_numbers_;
  std::map<std::uint32_t, models::fleet::FirstPass> first_passes_;
  Situations known_;
};

} // namespace foretrain::experiments
