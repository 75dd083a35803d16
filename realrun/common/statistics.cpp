#include "realrun/common/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace foretrain::realrun {

namespace {

double sorted_quantile(const std::vector<double>& sorted, double q)
{
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::vector<double> in_order(std::span<const double> samples)
{
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

} // namespace

double quantile(std::span<const double> samples, double q)
{
  return sorted_quantile(in_order(samples), q);
}

Summary summarise(std::span<const double> samples)
{
  const std::vector<double> sorted = in_order(samples);
  Summary s;
  s.count = sorted.size();
  s.minimum = sorted.front();
  s.p10 = sorted_quantile(sorted, 0.1);
  s.median = sorted_quantile(sorted, 0.5);
  s.p90 = sorted_quantile(sorted, 0.9);
  s.maximum = sorted.back();
  const auto n = static_cast<double>(sorted.size());
  s.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / n;
  double squares = 0.0;
  for (const double x : sorted)
    squares += (x - s.mean) * (x - s.mean);
  s.deviation = sorted.size() > 1 ? std::sqrt(squares / (n - 1.0)) : 0.0;
  return s;
}

} // namespace foretrain::realrun
