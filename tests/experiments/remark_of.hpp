// What a remark about a library's choices says of a point's first job.
#pragma once

#include "experiments/run/limits/pulled.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/spec/resolve.hpp"

#include <string>

namespace foretrain::test {

/// `remark`: remark_algorithm, remark_sockets.
template <class Remark>
std::string remark_of(const experiments::Point& point, const Remark& remark)
{
  experiments::RunOptions options;
  options.uncertainty.method = experiments::UncertaintyMethod::steps;
  const experiments::PointResult result = experiments::run_point(point, options);
  const double rate = experiments::quick_throughputs(point, options).front();
  return remark(experiments::resolve(point), 0, rate, options, result.jobs.front());
}

} // namespace foretrain::test
