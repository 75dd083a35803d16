// Anchors: measured rates that say how long kernels take.
#pragma once

#include "experiments/spec/experiment.hpp"

#include <optional>

namespace foretrain::experiments {

/// GPUs that reached the anchor's rate together. The job has an anchor.
int anchor_gpus(const JobSpec& job);

/// Whether the anchor's rate holds more than kernels, so that only runs of that job tell how long
/// these take: a rate of several GPUs, or of a transformer. They set the job's kernel_time.
bool anchored_by_runs(const JobSpec& job);

/// Who changes a document that an interval's runs vary; nobody asked for it.
inline constexpr const char* kVaried = "uncertainty";

/// The experiment that the anchor of a job was measured with: before a sweep, --set or a plan's
/// options changed anything (Point::anchored), unless they gave an anchor, too.
Point measured_with(const Point& point, std::size_t job);

/// The same of a rate of one GPU, where the job's kernels were others then.
std::optional<Point> measured_elsewhere(const Point& point, const JobSpec& spec, std::size_t job);

} // namespace foretrain::experiments
