// What fits leave over: a model that has learnt its parameters from measurements still misses each
// of them by a little, and will miss a new one as much.
#pragma once

#include "experiments/run/uncertainty/uncertain_variables.hpp"

namespace foretrain::experiments {

/// What a profile's fit could not follow, as one more cause of error.
struct Unexplained {
  std::string name;                   // "what the fit to ... left unexplained"
  double spread = 0;                  // relative standard deviation of what the fit was about
  std::vector<std::size_t> variables; // those that it taught
};

/// One for each fit that taught some of the variables and had more measurements than parameters:
/// the mean error e of n measurements that p parameters follow is that of a normal distribution
/// with the standard deviation sqrt(pi / 2) e sqrt(n / (n - p)).
std::vector<Unexplained> unexplained(const Point& point, const std::vector<Variable>& variables);

/// Its effect on the logarithm of a job's throughput, given those of one standard deviation of each
/// variable. A step's time is homogeneous in the rates and times that make it up (Euler): the sum
/// of its sensitivities to what the fit taught is the share of the step that the fit is about.
double effect_of(const Unexplained& fit, const std::vector<Variable>& variables,
                 const std::vector<double>& effects);

} // namespace foretrain::experiments
