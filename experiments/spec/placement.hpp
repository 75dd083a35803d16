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
  /// Throws ConfigError at the job when there are not enough, or a list is wrong.
  std::vector<platforms::GpuPlace> place(const JobSpec& job, const Value& at);

private:
  std::vector<platforms::GpuPlace> listed(const JobSpec& job, const Value& at);
  std::vector<platforms::GpuPlace> in_order(const JobSpec& job, const std::string& how);

  int nodes_;
  int per_node_;
  int next_node_ = 0; // round-robin goes on here
  std::set<platforms::GpuPlace> taken_;
};

/// Nodes that lists of GPUs need, at least.
int listed_nodes(const JobSpec& job);

} // namespace foretrain::experiments
