#include "experiments/run/simulate/phases.hpp"

#include "sim/engine/random.hpp"

#include <cmath>

namespace foretrain::experiments {

std::vector<Seconds> random_phases(const std::vector<Seconds>& steps, std::uint64_t seed, int run)
{
  sim::RandomStream random(seed, "phase", static_cast<std::uint64_t>(run));
  std::vector<Seconds> late;
  for (const Seconds step : steps)
    late.push_back(random.uniform() * step);
  return late;
}

std::size_t typical_run(const std::vector<std::vector<double>>& rates)
{
  std::vector<double> distances(rates.size(), 0);
  for (std::size_t job = 0; job < rates.front().size(); ++job) {
    std::vector<double> of_job;
    for (const auto& run : rates)
      of_job.push_back(run[job]);
    const double median = quantile(of_job, 0.5);
    for (std::size_t run = 0; run < rates.size(); ++run)
      distances[run] += std::abs(std::log(rates[run][job] / median));
  }
  std::size_t best = 0;
  for (std::size_t run = 1; run < rates.size(); ++run)
    if (distances[run] < distances[best])
      best = run;
  return best;
}

} // namespace foretrain::experiments
