// What a flow passes through: resources with weights, a latency and a cap.
#pragma once

#include "sim/base/units.hpp"
#include "sim/engine/max_min.hpp"

#include <memory>
#include <vector>

namespace foretrain::sim {

/// Resources of which a flow takes as much as if nothing else limited it: a thread keeps its core
/// while it waits for memory.
struct Held {
  std::vector<Use> uses; // as those of a path
  double priority = 1;   // on them
};

/// A flow pays `latency` once, then progresses at no more than `cap` units per second, taking
/// weight units of each resource per unit of progress.
struct Path {
  std::vector<Use> uses; // sorted by resource, each once, weights > 0: see make_path
  Held held;
  Seconds latency;
  double cap = MaxMin::kNoCap; // units per second
};

using PathPtr = std::shared_ptr<const Path>;

/// Sorts, adds up the weights of resources named twice, and drops zero weights.
PathPtr make_path(std::vector<Use> uses, Seconds latency = {}, double cap = MaxMin::kNoCap,
                  Held held = {});

} // namespace foretrain::sim
