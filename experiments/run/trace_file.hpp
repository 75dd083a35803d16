// Timelines in Chrome's trace format, which Perfetto and HTA read: a process per GPU, streams as
// threads, collectives named like NCCL's kernels.
#pragma once

#include "models/job.hpp"
#include "models/plans/step.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// The last step of every job. Throws UsageError when the file cannot be written.
void write_trace(const std::string& path, const std::vector<const models::Job*>& jobs);

/// A step of a large model: one GPU of each pipeline stage, a stream for each kind of group.
void write_trace(const std::string& path, const std::string& job,
                 const models::StepSetting& setting, const models::StepResult& step);

} // namespace foretrain::experiments
