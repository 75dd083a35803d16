// Claims judged: whether what is predicted is what was published, and whether what was published
// lies inside the interval of what is predicted.
#pragma once

#include "experiments/run/keep/range.hpp"
#include "experiments/run/keep/result.hpp"
#include "experiments/validate/founding.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

/// Of the larger one: numbers that are nearer to each other stand in no order.
inline constexpr double kLeastDifference = 0.005;

/// A claim and what became of it.
struct ClaimVerdict {
  const ClaimSpec* claim = nullptr;
  std::vector<Range> numbers; // one; of an order all, in its order
  /// Whether their ranges hold what parameters do; where runs alone vary enough to hold what was
  /// published, nobody asked.
  bool ranges_known = false;
  std::vector<std::string> texts;
  bool holds = false;
  /// Of a number: the published one (or one that its bounds allow) lies in the interval; of an
  /// order: so does one as published of the ratio of each two neighbours. Nothing for texts.
  std::optional<bool> inside;
  std::string error; // instead of numbers
  int status = 0;    // exit code that the error deserves
};

/// Predicts what each claim is about. Empty when interrupted.
std::optional<std::vector<ClaimVerdict>> judge_claims(const ClaimsFile& file,
                                                      const RunOptions& options, int jobs,
                                                      const std::function<void(int, int)>& told);

} // namespace foretrain::experiments
