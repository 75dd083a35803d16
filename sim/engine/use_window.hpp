// How much of each resource was used from one moment to another.
#pragma once

#include "sim/engine/engine.hpp"

#include <vector>

namespace foretrain::sim {

class UseWindow {
public:
  /// The engine must outlive this.
  explicit UseWindow(const Engine& engine) : engine_(engine) {}

  void open();
  void close();
  /// Share of a resource's capacity that was used, by all, between the two; 0 before it is closed.
  double share(ResourceId resource) const;

private:
  const Engine& engine_;
  Seconds from_, until_;
  std::vector<double> used_; // by resource; as long as it is open, what was before
  bool closed_ = false;
};

} // namespace foretrain::sim
