// Levers that help only together: what one betters, the other goes on limiting.
#pragma once

#include "experiments/run/limits/pulled.hpp"

#include <functional>

namespace foretrain::experiments {

struct LeverSet {
  std::vector<const Lever*> levers; // two or three
  double gain = 0;                  // of throughput, relative, with all doubled
  double surplus = 0; // part of a step saved beyond what the set's parts save one by one
};

constexpr int kMostSets = 35; // that are tried, of six levers

/// What each job would gain by two or three levers at once, where that saves at least a percent of
/// the step more than any two parts of the set save one by one; the largest surplus first. `base`:
/// throughput by job; `doubled`: what each of levers() alone brings, by job. Sets are made of the
/// six levers that are missed most when all others are doubled. `done`: called after each run.
std::vector<std::vector<LeverSet>> sets_that_help(const ResolvedExperiment& experiment,
                                                  const std::vector<double>& base,
                                                  const std::vector<std::vector<double>>& doubled,
                                                  const RunOptions& options,
                                                  const std::function<void()>& done);

} // namespace foretrain::experiments
