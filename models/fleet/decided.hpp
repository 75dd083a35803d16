// Starts what somebody outside decides: a policy of the user's own.
#pragma once

#include "models/fleet/backfill.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace foretrain::models::fleet {

struct Decision {
  JobId job = 0;
  std::vector<int> nodes{}; // as many GPUs on each; none: as the policy's placement chooses
};
/// Jobs to start now, in this order; asked while jobs wait and GPUs are free. One that quota or
/// placement do not let start stays in the queue.
using Decide = std::function<std::vector<Decision>(const Scheduler& scheduler)>;

/// Throws UsageError for a decision that cannot be carried out.
std::unique_ptr<Backfill> decided_by(Decide decide);

} // namespace foretrain::models::fleet
