// Who shares which cores and how much memory of a node.
#pragma once

#include "experiments/spec/resolve.hpp"
#include "sim/engine/engine.hpp"

#include <vector>

namespace foretrain::experiments {

/// What the jobs of an experiment get of the nodes they run on.
class Tenancy {
public:
  Tenancy(const ResolvedExperiment& experiment);

  /// Cores of a node that a job may use, all of them when nothing confines it.
  double cores(std::size_t job, int node) const;
  bool confined(std::size_t job) const { return confined_[job]; }
  /// Memory of a node that can cache the job's files.
  Bytes page_cache(std::size_t job, int node) const;
  /// Decoding threads for each GPU of the job on a node.
  double decode_threads(std::size_t job, int node) const;
  /// Whether the threads on a node could ask for more cores than there are.
  bool crowded(int node) const;
  /// Jobs that have a part of each node, whether they run or not.
  const std::vector<int>& tenants() const { return tenants_; }
  int gpus_on(std::size_t job, int node) const
  {
    return gpus_[job][static_cast<std::size_t>(node)];
  }

private:
  bool isolated(std::size_t job) const;
  double share(std::size_t job, int node) const;
  int tenants(int node) const;
  bool is_confined(std::size_t job) const;
  Bytes own_cache(std::size_t job, int node, Bytes processes) const;

  const ResolvedExperiment& experiment_;
  std::vector<std::vector<int>> gpus_; // [job][node]
  std::vector<int> tenants_;           // [node]
  std::vector<bool> confined_;         // [job]
};

/// Of how many nodes of a job reports tell resources: they speak for the others.
inline constexpr int kNodesTold = 8;

/// Of each GPU of a job of a network: whether it is simulated by itself, since it does not do what
/// the job's other ones do (what contends for cores, or has other jobs on its node), or since
/// people look at it: those of the first node.
std::vector<bool> gpus_apart(const ResolvedExperiment& experiment, std::size_t job,
                             const Tenancy& tenancy);

} // namespace foretrain::experiments
