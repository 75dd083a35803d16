// Short runs of a point, to compare parameters.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/known_exchanges.hpp"
#include "experiments/spec/resolve.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace foretrain::experiments {

/// Logarithm of each job's throughput, up to a constant.
using LogRates = std::vector<double>;

/// Runs a point, or one like it with other parameters, for enough steps to compare the two.
class Probe {
public:
  /// `exchanges`: what is known of the point's.
  Probe(const Point& point, RunOptions options, std::shared_ptr<KnownExchanges> exchanges);

  const Point& point() const { return point_; }
  /// Step times of each job, s. `same_exchanges`: nothing that exchanges go through differs from
  /// the probe's own point. Throws ConfigError.
  std::vector<std::vector<double>> steps(const Point& point, std::uint64_t seed,
                                         bool same_exchanges = false) const;
  /// From the mean step, with the seed of the options.
  LogRates rates(const Point& point, bool same_exchanges = false) const;
  /// Of one of the jobs, on one GPU.
  double on_one_gpu(const Point& point, std::size_t job) const;
  /// Of one of the jobs, on its GPUs without the others.
  double alone(const Point& point, std::size_t job, bool same_exchanges) const;

private:
  ResolvedExperiment resolved(const Point& point, bool same_exchanges) const;

  Point point_;
  RunOptions options_;
  std::shared_ptr<KnownExchanges> exchanges_; // of the probe's own point
};

} // namespace foretrain::experiments
