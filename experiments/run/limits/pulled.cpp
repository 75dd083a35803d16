#include "experiments/run/limits/pulled.hpp"

#include "experiments/run/simulate/stage.hpp"

namespace foretrain::experiments {

std::vector<double> throughputs_with(const ResolvedExperiment& experiment,
                                     const std::vector<const Lever*>& pulled, double factor,
                                     const RunOptions& options)
{
  ResolvedExperiment changed = experiment;
  for (const Lever* lever : pulled)
    lever->apply(changed, factor);
  if (!pulled.empty())
    changed.exchanges = std::make_shared<KnownExchanges>();
  RunOptions quiet = options;
  quiet.trace_path.clear();
  quiet.keep_limits = false;
  quiet.compares = true;
  quiet.progress = nullptr;
  Stage stage(changed, quiet);
  stage.run();
  std::vector<double> rates;
  for (std::size_t i = 0; i < changed.jobs.size(); ++i) {
    double sum = 0;
    const auto& steps_taken = stage.job(i).step_times();
    for (const Seconds step : steps_taken)
      sum += step.value();
    rates.push_back(stage.job(i).schedule().samples_per_step *
                    static_cast<double>(steps_taken.size()) / sum);
  }
  return rates;
}

double saved_by(double gain)
{
  return gain / (1 + gain);
}

std::vector<double> gains_over(const std::vector<double>& base, const std::vector<double>& rates)
{
  std::vector<double> gains;
  for (std::size_t i = 0; i < rates.size(); ++i)
    gains.push_back(rates[i] / base[i] - 1);
  return gains;
}

} // namespace foretrain::experiments
