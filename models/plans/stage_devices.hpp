// The devices that stand for pipeline stages, and those that they exchange with.
#pragma once

#include "models/plans/step_setting.hpp"

#include <vector>

namespace foretrain::models {

class StageDevices {
public:
  /// `nodes`: of each device; `busy`: of each node, others work there. Both must outlive this. The
  /// device that stands for a stage is in the lane whose devices are most often among others.
  StageDevices(const std::vector<int>& nodes, const std::vector<bool>& busy,
               const MemorySetting& setting);

  int per_stage() const { return per_stage_; }
  int of(int stage) const { return first_of(stage) + lane_; }

  /// Groups of a stage: that of its device first, then those that share a node with it or with
  /// others.
  std::vector<std::vector<int>> groups(PlanGroup group, int stage) const;
  /// Pairs of devices that send from one stage to the other, in the same order.
  std::vector<std::vector<int>> pairs(int from, int to) const;

private:
  int first_of(int stage) const { return stage * per_stage_; }
  int node(int device) const { return nodes_[static_cast<std::size_t>(device)]; }
  bool is_busy(int device) const { return busy_[static_cast<std::size_t>(node(device))]; }
  std::vector<std::vector<int>> relevant(std::vector<std::vector<int>> all, int own) const;

  const std::vector<int>& nodes_;
  const std::vector<bool>& busy_;
  const MemorySetting& setting_;
  int per_stage_;
  int lane_ = 0;
};

} // namespace foretrain::models
