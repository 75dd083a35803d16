// What a list of samples says about itself.
#pragma once

#include <cstddef>
#include <span>

namespace foretrain::realrun {

struct Summary {
  std::size_t count = 0;
  double minimum = 0.0;
  double p10 = 0.0;
  double median = 0.0;
  double p90 = 0.0;
  double maximum = 0.0;
  double mean = 0.0;
  double deviation = 0.0; // sample standard deviation, 0 for one sample
};

/// `samples` must not be empty.
Summary summarise(std::span<const double> samples);

/// The q-quantile (0..1) by linear interpolation; `samples` must not be empty.
double quantile(std::span<const double> samples, double q);

} // namespace foretrain::realrun
