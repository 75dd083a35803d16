// What the spread of each parameter does to the rate of each job of a point, and to ratios of
// rates.
#pragma once

#include "experiments/run/uncertainty/linear_spreads.hpp"

#include <functional>

namespace foretrain::experiments {

/// Logarithm of a job's rate.
using RateOf = std::function<double(const Point& point, std::size_t job, bool same_exchanges)>;

struct RateEffects {
  const Probe& probe;
  const ResolvedExperiment& experiment;
  const std::vector<Variable>& variables;
  std::vector<std::vector<double>> matrix; // correlations
  LinearEffects of_rates;                  // [variable][job]
  RateOf rate;
  double half_width; // of intervals, in standard deviations

  /// Of a job's rate.
  Deviations deviations(std::size_t job) const;
  /// Of a job's rate over another one of it, in which what both have in common cancels.
  Deviations over(const RateEffects& other, std::size_t job) const;
  /// What fits of profiles left over.
  std::vector<Uncertainty::Part> left(std::size_t job) const;

  /// With the rate that the job has alone in place of the one beside the others.
  RateEffects without_others(std::size_t job) const;
  RateEffects on_one_gpu(std::size_t job) const;
  /// What one GPU does not have in common with several: relative standard deviation.
  double of_several(std::size_t job) const;

private:
  RateEffects instead(std::size_t job, RateOf of) const;
};

RateEffects rate_effects(const Probe& probe, const ResolvedExperiment& experiment,
                         const std::vector<Variable>& variables, double interval);

} // namespace foretrain::experiments
