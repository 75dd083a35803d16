// Which nodes are in service, and why the others are not.
#pragma once

#include "models/fleet/gpu_set.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace foretrain::models::fleet {

class NodeStates {
public:
  /// The last `spares` nodes stand by, the others are in service.
  NodeStates(const ClusterShape& shape, int spares);

  /// Broken, or a spare that stands by or starts.
  bool is_out(int node) const { return at(node).state != State::in_service; }
  bool in_maintenance(int node) const { return at(node).windows > 0; }
  /// GPUs that broke by themselves.
  GpuBits broken_gpus(int node) const { return at(node).broken_gpus; }

  enum class Broke { nothing, spare, in_service };
  /// What breaks with a node: nothing where it is broken or in maintenance.
  Broke break_node(int node);
  void break_gpus(const Slice& gpus) { at(gpus.node).broken_gpus |= gpus.gpus; }
  void repair(int node) { at(node).state = State::in_service; }
  void repair_gpus(const Slice& gpus) { at(gpus.node).broken_gpus &= ~gpus.gpus; }

  void stand_by(int node);
  /// The spare that stands by longest and is not in maintenance; from now on it is in service.
  std::optional<int> call_spare();
  /// Spares that stand by and are not in maintenance.
  int standing_by() const;
  /// A spare that was called takes a while; the number of this start.
  std::uint32_t start(int node);
  /// Whether it is still that start, which then is over.
  bool end_start(int node, std::uint32_t number);

  /// A window takes a node, or gives it back: whether that takes it out of service, or back.
  bool enter_window(int node) { return at(node).windows++ == 0 && !is_out(node); }
  bool leave_window(int node) { return --at(node).windows == 0 && !is_out(node); }

private:
  enum class State : std::uint8_t { in_service, standby, starting, broken };
  struct Node {
    State state = State::in_service;
    int windows = 0;
    std::uint32_t starts = 0;
    GpuBits broken_gpus = 0;
  };

  Node& at(int node) { return nodes_[static_cast<std::size_t>(node)]; }
  const Node& at(int node) const { return nodes_[static_cast<std::size_t>(node)]; }

  std::vector<Node> nodes_;
  std::vector<int> standby_; // in the order in which they came
};

} // namespace foretrain::models::fleet
