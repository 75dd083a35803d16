// Short runs of a point, to compare parameters.
#pragma once

#include "experiments/run/result.hpp"

#include <cstdint>
#include <vector>

namespace foretrain::experiments {

/// Logarithm of each job's throughput, up to a constant.
using LogRates = std::vector<double>;

/// Runs a point, or one like it with other parameters, for enough steps to compare the two.
class Probe {
public:
  Probe(const Point& point, RunOptions options);

  const Point& point() const { return point_; }
  /// Step times of each job, s. Throws ConfigError.
  std::vector<std::vector<double>> steps(const Point& point, std::uint64_t seed) const;
  /// From the mean step, with the seed of the options.
  LogRates rates(const Point& point) const;

private:
  Point point_;
  RunOptions options_;
};

} // namespace foretrain::experiments
