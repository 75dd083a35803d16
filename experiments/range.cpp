#include "experiments/range.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::experiments {

double quantile(std::vector<double> values, double q)
{
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double part = position - static_cast<double>(below);
  return values[below] * (1 - part) + values[above] * part;
}

double relative_spread(const std::vector<double>& values)
{
  const auto n = static_cast<double>(values.size());
  double mean = 0;
  double square = 0;
  for (const double value : values) {
    mean += value / n;
    square += value * value / n;
  }
  return std::sqrt(std::max(0.0, square - mean * mean)) / mean;
}

// By bisection of the error function.
double half_width(double interval)
{
  double low = 0;
  double high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (std::erf(middle / std::sqrt(2.0)) < interval ? low : high) = middle;
  }
  return low;
}

Range widened(const Range& range, double distance)
{
  const auto together = [&](double bound) {
    return bound > 0 ? std::hypot(std::log(bound / range.median), distance) : distance;
  };
  return {range.median, range.median * std::exp(-together(range.low)),
          range.median * std::exp(together(range.high)), range.interval};
}

} // namespace foretrain::experiments
