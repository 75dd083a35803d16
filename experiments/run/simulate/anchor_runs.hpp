// How long kernels take where a measured rate of several GPUs, or of a transformer, says it.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/experiment.hpp"
#include "sim/base/error.hpp"

namespace foretrain::experiments {

/// No time of kernels gives an anchor's rate: what else the machine is said to be like is not what
/// was measured.
class UnreachedRate : public ConfigError {
public:
  explicit UnreachedRate(const ConfigError& problem) : ConfigError(problem) {}
};

/// The point with the `kernel_time` of each job whose anchor needs runs (anchored_by_runs): the one
/// with which the same job, alone on the anchor's GPUs and at its batch, has the anchor's rate. In
/// a sweep that job is the file's own (Point::anchored), so that all points have one time of
/// kernels. Throws UnreachedRate where no time of kernels gives that rate.
Point with_anchors(const Point& point, const RunOptions& options);

/// The same with these anchors gone: `kernel_time` as the job's own plan has it, for other plans of
/// the job too, which an anchor would give its rate.
Point with_kernel_times(const Point& point, const RunOptions& options);

} // namespace foretrain::experiments
