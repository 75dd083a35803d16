// What explanations of all kinds of jobs are asked for.
#pragma once

#include "experiments/run/keep/result.hpp"

#include <functional>

namespace foretrain::experiments {

inline constexpr double kTenPercent = 1.1; // better

struct ExplainOptions {
  RunOptions run{};
  bool swaps = true; // also every choice of the stack
  /// Told after each run: done, total.
  std::function<void(int, int)> progress{};
};

} // namespace foretrain::experiments
