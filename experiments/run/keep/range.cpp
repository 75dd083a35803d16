#include "experiments/run/keep/range.hpp"

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>

namespace foretrain::experiments {

void check_fields(const Value& at, const Range& range)
{
  if (range.low > range.median * (1 + 1e-9))
    at.fail_at("low", "must be at most the median, got " + at.shown());
  if (range.high < range.median * (1 - 1e-9))
    at.fail_at("high", "must be at least the median, got " + at.shown());
}

Range scaled(const Range& range, double factor)
{
  return {factor * range.median, factor * range.low, factor * range.high, range.interval};
}

Deviations beside(const Deviations& one, const Deviations& other)
{
  return {std::hypot(one.below, other.below), std::hypot(one.above, other.above)};
}

double on_side(double sign, double more, double less)
{
  const double up = sign * more > 0 ? more : 0;
  const double down = sign * less < 0 ? less : 0;
  return std::abs(up) >= std::abs(down) ? up : down;
}

double quantile(std::vector<double> values, double q)
{
  std::sort(values.begin(), values.end());
  return quantile_of_sorted(values, q);
}

double quantile_of_sorted(const std::vector<double>& values, double q)
{
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double part = position - static_cast<double>(below);
  return values[below] * (1 - part) + values[above] * part;
}

// Welford's recurrence: no difference of large squares.
double variance(const std::vector<double>& values)
{
  double mean = 0;
  double squares = 0;
  double n = 0;
  for (const double value : values) {
    const double distance = value - mean;
    mean += distance / ++n;
    squares += distance * (value - mean);
  }
  return n > 1 ? squares / (n - 1) : 0;
}

double relative_spread(const std::vector<double>& values)
{
  double sum = 0;
  for (const double value : values)
    sum += value;
  return std::sqrt(variance(values)) * static_cast<double>(values.size()) / sum;
}

double half_width(double interval)
{
  return boost::math::quantile(boost::math::normal(), 0.5 + interval / 2);
}

Range range_of(const std::vector<double>& values, double mean, double interval)
{
  const auto n = static_cast<double>(values.size());
  const double tail = 0.5 - interval / 2;
  if (n < 2 || tail * n >= 1 - 1e-9)
    return {mean, std::min(mean, quantile(values, tail)),
            std::max(mean, quantile(values, 1 - tail)), interval};
  const boost::math::students_t student(n - 1);
  const double factor = std::exp(boost::math::quantile(student, 1 - tail) *
                                 relative_spread(values) * std::sqrt(1 + 1 / n));
  return {mean, mean / factor, mean * factor, interval};
}

Range widened(const Range& range, double distance)
{
  return widened(range, distance, distance);
}

Range widened(const Range& range, double below, double above)
{
  const auto together = [&](double bound, double distance) {
    return bound > 0 ? std::hypot(std::log(bound / range.median), distance) : distance;
  };
  return {range.median, range.median * std::exp(-together(range.low, below)),
          range.median * std::exp(together(range.high, above)), range.interval};
}

} // namespace foretrain::experiments
