// How fast jobs are where they are, beside whom they are.
#pragma once

#include "models/fleet/neighbours.hpp"

#include <functional>
#include <span>
#include <vector>

namespace foretrain::models::fleet {

/// Work per second, where 1 is what a job's work is counted at; and of its checkpoint's write or
/// read, likewise.
struct JobRate {
  double work = 1;
  double transfer = 1;
};

/// Nothing: all rates are 1.
struct Speeds {
  /// Of jobs that meet each other, and nobody else.
  std::function<std::vector<JobRate>(std::span<const Placed> jobs)> rates;
  /// What a job uses alone of what no node has to itself; nothing: jobs meet on nodes only.
  std::function<std::vector<SharedUse>(const Placed& job)> shared;
};

} // namespace foretrain::models::fleet
