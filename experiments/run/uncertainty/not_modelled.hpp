// What of a transformer's step is not modelled.
#pragma once

#include "experiments/spec/resolved.hpp"

#include <string>

namespace foretrain::experiments {

/// Relative standard deviations of throughput (spreads of transformers, with experts or without).
/// `common`: what it is off by on all numbers of GPUs and batches, in each of its runs alike, which
/// cancels in ratios of two sides that `of` calls the same. `own`: what is left of it there.
struct NotModelled {
  double common = 0, own = 0;
  std::string of;
  double total() const;
};

/// Of a job as the point describes it; nothing of networks of layers. An anchor holds what all
/// scales have in common, on its platform and in its plan; of the job that was measured, all.
NotModelled not_modelled(const Point& point, const ResolvedExperiment& experiment, std::size_t job);

} // namespace foretrain::experiments
