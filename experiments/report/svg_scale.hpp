// From values to pixels: scales and round ticks.
#pragma once

#include <vector>

namespace foretrain::experiments {

/// Maps [low, high] to pixels [from, to], evenly or by ratio.
struct Scale {
  double low = 0;
  double high = 1;
  double from = 0;
  double to = 1;
  bool logarithmic = false; // needs low > 0

  double operator()(double value) const;
};

/// About `count` multiples of 1, 2 or 5 x 10^k that cover [0 or low, high]; the last is >= high.
std::vector<double> round_ticks(double low, double high, int count);

/// Multiples of 1, 2, 5 x 10^k (of 10^k only, over more than three decades) around [low, high].
std::vector<double> ratio_ticks(double low, double high);

} // namespace foretrain::experiments
