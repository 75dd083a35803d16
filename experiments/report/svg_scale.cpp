#include "experiments/report/svg_scale.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::experiments {

double Scale::operator()(double value) const
{
  const double share =
      logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return high > low ? from + share * (to - from) : (from + to) / 2;
}

std::vector<double> round_ticks(double low, double high, int count)
{
  if (!(high > low))
    high = low + std::max(1.0, std::abs(low));
  const double raw = (high - low) / std::max(1, count);
  const double decade = std::pow(10.0, std::floor(std::log10(raw)));
  const double ratio = raw / decade;
  const double step = decade * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
  std::vector<double> ticks;
  const double slack = 1e-9 * step;
  for (double k = std::floor(low / step + 1e-9);; ++k) {
    ticks.push_back(k * step);
    if (ticks.back() >= high - slack)
      return ticks;
  }
}

std::vector<double> ratio_ticks(double low, double high)
{
  std::vector<double> candidates;
  const bool fine = high < 1000 * low;
  for (double decade = std::pow(10.0, std::floor(std::log10(low))); decade <= 10 * high;
       decade *= 10)
    for (const double digit : {1.0, 2.0, 5.0})
      if (fine || digit == 1.0)
        candidates.push_back(decade * digit);
  std::vector<double> ticks; // the last one below `low` to the first one above `high`
  for (const double tick : candidates) {
    if (tick <= low * (1 + 1e-9))
      ticks.clear();
    ticks.push_back(tick);
    if (tick >= high * (1 - 1e-9))
      break;
  }
  return ticks;
}

} // namespace foretrain::experiments
