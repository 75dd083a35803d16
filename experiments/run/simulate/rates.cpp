#include "experiments/run/simulate/rates.hpp"

#include <cmath>

namespace foretrain::experiments {

Rates rates_of(const models::Job& job, double interval)
{
  const double samples = job.schedule().samples_per_step;
  std::vector<double> steps;
  double sum = 0;
  for (const Seconds step : job.step_times()) {
    steps.push_back(step.value());
    sum += step.value();
  }
  const double mean = sum / static_cast<double>(steps.size());
  const Range step = range_of(steps, mean, interval);
  return {{samples / mean, samples / step.high, samples / step.low, interval}, step};
}

double run_to_run(const models::Job& job)
{
  std::vector<double> steps;
  for (const Seconds step : job.step_times())
    steps.push_back(step.value());
  return relative_spread(steps) / std::sqrt(static_cast<double>(steps.size()));
}

} // namespace foretrain::experiments
