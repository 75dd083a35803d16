// Predictions against measurements: errors, ratios, rankings and intervals, by regime.
#pragma once

#include "experiments/validate/suite_plan.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

/// A measurement with its prediction; values in SI.
struct Comparison {
  Measurement row;
  double predicted = 0;
  double low = 0; // of the prediction's interval; low == high: it has none
  double high = 0;
  std::string problem;      // why there is no prediction; empty: there is one
  int status = 0;           // of the problem: 2 wrong input, 3 internal error
  std::optional<bool> fits; // the row's job in device memory, where its run tells that

  /// predicted / measured - 1
  double error() const { return predicted / row.measured - 1; }
  bool has_interval() const { return high > low; }
  bool covered() const { return row.measured >= low && row.measured <= high; }
};

struct ErrorSummary {
  int rows = 0;
  double mean = 0;    // of |error|
  double maximum = 0; // of |error|
  double bias = 0;    // mean error
  std::string worst;  // id of the row with the maximum
};

struct Summary {
  ErrorSummary errors;
  ErrorSummary ratios; // of rows that are divided by another
  int pairs = 0;       // in a group, or a row and its divisor; apart by over 1 % and their spread
  int right_pairs = 0; // of them, those predicted in the measured order
  int intervals = 0;   // rows with an interval
  int covered = 0;     // of them, those measured inside it
};

/// What a set of comparisons says. Rows without prediction are left out; rows of `all` are where
/// ratios find the row they are divided by.
Summary summarise(const std::vector<const Comparison*>& rows, const std::vector<Comparison>& all);

/// Comparisons in the order of the plan. `progress(done, total)` after each run; `finished` with
/// the comparisons of each run, as they come. Returns nothing when interrupted.
std::optional<std::vector<Comparison>>
compare(const SuitePlan& plan, const RunOptions& options, int jobs,
        const std::function<void(int, int)>& progress,
        const std::function<void(const Comparison&)>& finished);

} // namespace foretrain::experiments
