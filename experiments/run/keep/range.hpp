// Ranges of quantities that vary.
#pragma once

#include "sim/base/schema.hpp"

#include <algorithm>
#include <vector>

namespace foretrain::experiments {

struct Range {
  double median = 0;
  double low = 0;
  double high = 0;
  double interval = 0.9; // probability that the quantity lies between low and high
};

template <class V>
void describe(V& v, Range& r)
{
  v.required("median", r.median, "it is about as likely above as below", non_negative());
  v.required("low", r.low, "lower end", non_negative());
  v.required("high", r.high, "upper end", non_negative());
  v.required("interval", r.interval, "probability that the quantity lies between low and high",
             between(0, 1));
}
void check_fields(const Value& at, const Range& range);

Range scaled(const Range& range, double factor);

/// Relative standard deviations of a quantity towards lower and towards higher values.
struct Deviations {
  Deviations() = default;
  /// As far to both sides.
  Deviations(double both) : below(both), above(both) {}
  Deviations(double to_lower, double to_higher) : below(to_lower), above(to_higher) {}

  double below = 0;
  double above = 0;
  double larger() const { return std::max(below, above); }
};

/// Of two independent causes together.
Deviations beside(const Deviations& one, const Deviations& other);

/// What a parameter that moves a quantity by `more` when it is larger and by -`less` when it is
/// smaller does towards higher values (`sign` 1) or lower ones (-1), per unit of the parameter.
double on_side(double sign, double more, double less);

/// Value below which a part q of the values lies, between neighbours by proportion. Not of none.
double quantile(std::vector<double> values, double q);
/// The same of values in ascending order.
double quantile_of_sorted(const std::vector<double>& values, double q);
/// Unbiased variance (over n - 1); 0 of fewer than two values.
double variance(const std::vector<double>& values);
/// Relative standard deviation (over n - 1) of positive values around their mean.
double relative_spread(const std::vector<double>& values);

/// Standard normal quantile of a central interval.
double half_width(double interval);
/// Where a further positive value lies: between quantiles of the values, or, where fewer than one
/// of them is in a tail, Student's prediction interval for n values of one normal distribution.
Range range_of(const std::vector<double>& values, double mean, double interval);
/// The range with an independent cause of distance from the median added: distances in logarithms
/// add in squares. `distance` belongs to the same interval.
Range widened(const Range& range, double distance);
/// The same of a cause that has another distance towards lower values than towards higher ones.
Range widened(const Range& range, double below, double above);

} // namespace foretrain::experiments
