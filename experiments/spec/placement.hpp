// Which GPUs each job of an experiment gets.
#pragma once

#include "experiments/spec/experiment.hpp"
#include "platforms/machine.hpp"

#include <set>
#include <vector>

namespace foretrain::experiments {

/// Hands out GPUs to one job after the other.
class Placer {
public:
  Placer(int nodes, int gpus_per_node) : nodes_(nodes), per_node_(gpus_per_node) {}

  /// The GPUs of a job, rank by rank. Jobs get GPUs of their own unless a list says otherwise.
  /// `together`: so many ranks in a row belong on one node, 0 where that does not matter; unless
  /// the job says how it is placed, such a job has equally many GPUs on each node where that can
  /// be, as its launcher starts equally many processes there. Throws ConfigError at the job when
  /// there are not enough, or a list is wrong.
  std::vector<platforms::GpuPlace> place(const JobSpec& job, const Value& at, int together);

private:
  std::vector<platforms::GpuPlace> evenly(const JobSpec& job, int together);
  std::vector<int> free_on(int node) const;
  std::vector<platforms::GpuPlace> listed(const JobSpec& job, const Value& at);
  std::vector<platforms::GpuPlace> in_order(const JobSpec& job, const std::string& how);

  int nodes_;
  int per_node_;
  int next_node_ = 0; // round-robin goes on here
  std::set<platforms::GpuPlace> taken_;
};

/// Nodes that a job alone gets where nobody says how many there are: as few as hold it, or up to a
/// quarter more (at least one) where these can share it evenly, whole groups of `together` on each.
int nodes_for(const JobSpec& job, int gpus_per_node, int together);

/// Nodes that lists of GPUs need, at least.
int listed_nodes(const JobSpec& job);

} // namespace foretrain::experiments
