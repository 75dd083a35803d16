// Two systems side by side: which is faster, by how much, how sure that is, and why.
#pragma once

#include "experiments/answers/compare_sides.hpp"

#include <optional>

namespace foretrain::experiments {

struct CompareOptions {
  std::optional<double> fail_below; // of B's throughput over A's
  std::optional<double> fail_above;
  double confidence = 0.9;    // with which a bound must be broken
  double interval = 0.9;      // of the ratios
  bool settings_alone = true; // each differing setting by itself, where both sides can be run
};

/// The answer of docs/compare.md. Points are matched by the settings that either side varies; one
/// point is compared with one, whatever they are. "broken" tells whether a bound is. Throws
/// UsageError when no point of A has a counterpart in B.
Json compare(const CompareSide& a, const CompareSide& b, const CompareOptions& options);

} // namespace foretrain::experiments
