// Why a point is as fast as it is, and what would make it faster.
#pragma once

#include "experiments/run/result.hpp"
#include "experiments/spec/experiment.hpp"

#include <functional>

namespace foretrain::experiments {

struct ExplainOptions {
  RunOptions run{};
  bool swaps = true; // also every choice of the stack
  /// Told after each run: done, total.
  std::function<void(int, int)> progress{};
};

/// The answer of docs/explain.md about one point. Every gain is that of a run of the simulation
/// with the same random numbers. Throws ConfigError for what does not fit together.
Json explain(const LoadedExperiment& experiment, std::size_t point, const ExplainOptions& options);

} // namespace foretrain::experiments
