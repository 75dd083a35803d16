// Jobs run when and where a record says: a schedule of another scheduler, replayed.
#pragma once

#include "models/fleet/decided.hpp"

#include <vector>

namespace foretrain::models::fleet {

/// A time during which a job holds the same number of GPUs on each of some nodes.
struct Lease {
  JobId job = 0;
  Seconds start{}, end{};
  std::vector<int> nodes; // in rising order
};

/// Starts and stops jobs as their leases begin and end. A job that is done earlier leaves the rest
/// of its leases unused; one that is not done after its last keeps its GPUs until it is, and whose
/// lease begins there waits. One that has none left and no GPUs gets what leases leave over. Two
/// leases of a job do not overlap.
Decide follow_leases(std::vector<Lease> leases);

} // namespace foretrain::models::fleet
