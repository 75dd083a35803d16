// What copies on an idle machine take.
#pragma once

#include "sim/engine/engine.hpp"
#include "sim/engine/max_min.hpp"

#include <vector>

namespace foretrain::platforms {

/// Copies of the same size that start together, without their latency.
class IdleCopies {
public:
  explicit IdleCopies(const sim::Engine& engine) : engine_(engine) {}

  /// Bytes per second of all of them together, until the last one is done.
  double rate(const std::vector<sim::PathPtr>& paths);

private:
  const sim::Engine& engine_;
  int resources_ = 0; // in shares_
  sim::MaxMin shares_;
};

} // namespace foretrain::platforms
