// Who held which nodes, and when: the schedule of another scheduler, to be replayed.
#pragma once

#include "experiments/fleet/job_trace.hpp"
#include "models/fleet/gpu_set.hpp"
#include "models/fleet/leases.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace foretrain::experiments {

/// CSV with the columns job, start_s, end_s and nodes ("0 1"), gzipped or not: ids and clock are
/// those of the trace, and a job holds as many GPUs on each of its nodes. Positions are those of
/// the trace's workload. Throws ConfigError, also for leases of a job that overlap.
std::vector<models::fleet::Lease> read_leases(const std::filesystem::path& path,
                                              const JobTrace& trace,
                                              const models::fleet::ClusterShape& shape);

/// The same of another order of the jobs.
std::vector<models::fleet::Lease> leases_of(std::vector<models::fleet::Lease> leases,
                                            const models::fleet::Workload& trace,
                                            const models::fleet::Workload& workload);

} // namespace foretrain::experiments
