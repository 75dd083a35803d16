// Jobs that share nodes, and so may slow each other down.
#pragma once

#include "models/fleet/scheduler.hpp"

#include <vector>

namespace foretrain::models::fleet {

/// Groups of `running` jobs that are joined by nodes which they share, by way of others too: those
/// with a job that is among `changed` or is on one of `changed_nodes`. Every job is in one group at
/// most; numbers ascend within each.
std::vector<std::vector<JobId>> groups_of_changed(const Scheduler& scheduler,
                                                  const std::vector<JobId>& running,
                                                  const std::vector<JobId>& changed,
                                                  const std::vector<int>& changed_nodes, int nodes);

} // namespace foretrain::models::fleet
