#include "experiments/run/uncertainty/probe.hpp"

#include "experiments/run/simulate/anchor_runs.hpp"
#include "experiments/run/simulate/one_gpu.hpp"
#include "experiments/run/simulate/stage.hpp"

#include <cmath>

namespace foretrain::experiments {

namespace {

std::vector<std::vector<double>> steps_of(const ResolvedExperiment& experiment, RunOptions options)
{
  options.compares = true;
  Stage stage(experiment, options);
  stage.run();
  std::vector<std::vector<double>> times(experiment.jobs.size());
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i)
    for (const Seconds step : stage.job(i).step_times())
      times[i].push_back(step.value());
  return times;
}

double log_rate(const std::vector<double>& steps)
{
  double sum = 0;
  for (const double step : steps)
    sum += step;
  return -std::log(sum / static_cast<double>(steps.size()));
}

} // namespace

Probe::Probe(const Point& point, RunOptions options, std::shared_ptr<KnownExchanges> exchanges)
    : point_(point), options_(std::move(options)), exchanges_(std::move(exchanges))
{
  options_.trace_path.clear();
  options_.keep_limits = false;
}

ResolvedExperiment Probe::resolved(const Point& point, bool same_exchanges) const
{
  ResolvedExperiment experiment = resolve(with_anchors(point, options_));
  if (same_exchanges)
    experiment.exchanges = exchanges_;
  return experiment;
}

std::vector<std::vector<double>> Probe::steps(const Point& point, std::uint64_t seed,
                                              bool same_exchanges) const
{
  RunOptions options = options_;
  options.seed = seed;
  return steps_of(resolved(point, same_exchanges), std::move(options));
}

LogRates Probe::rates(const Point& point, bool same_exchanges) const
{
  LogRates rates;
  for (const auto& times : steps(point, options_.seed, same_exchanges))
    rates.push_back(log_rate(times));
  return rates;
}

double Probe::on_one_gpu(const Point& point, std::size_t job) const
{
  RunOptions options = options_;
  options.compares = true;
  return std::log(one_gpu_throughput(resolved(point, false), job, options));
}

double Probe::alone(const Point& point, std::size_t job, bool same_exchanges) const
{
  RunOptions options = options_;
  options.late.clear();
  return log_rate(steps_of(only(resolved(point, same_exchanges), job), std::move(options)).front());
}

} // namespace foretrain::experiments
