// Who has to give up its GPUs for whom. A way is one file and one line of the table in preempt.cpp.
#pragma once

#include "models/fleet/scheduler.hpp"

#include <functional>
#include <vector>

namespace foretrain::models::fleet {

/// The key of a job in the policy's order, as it is now.
using KeyNow = std::function<double(JobId)>;

/// Jobs to stop before the next pass.
using Preempt = std::vector<JobId> (*)(const Scheduler& scheduler, const KeyNow& key);
Preempt preempt_by(Preemption preemption);

std::vector<JobId> preempt_none(const Scheduler& scheduler, const KeyNow& key);
/// The first waiting job takes the GPUs of jobs that stand behind it, the last of them first; whose
/// GPUs it does not take goes on.
std::vector<JobId> preempt_priority(const Scheduler& scheduler, const KeyNow& key);
/// Those run that stand first among all, running or waiting.
std::vector<JobId> preempt_quantum(const Scheduler& scheduler, const KeyNow& key);

} // namespace foretrain::models::fleet
