// Timelines in Chrome's trace format, which Perfetto and HTA read: a process per GPU, streams as
// threads, collectives named like NCCL's kernels.
#pragma once

#include "models/training/job.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// The last step of every job. Throws UsageError when the file cannot be written.
void write_trace(const std::string& path, const std::vector<const models::Job*>& jobs);

} // namespace foretrain::experiments
