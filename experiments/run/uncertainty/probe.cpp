#include "experiments/run/uncertainty/probe.hpp"

#include "experiments/run/simulate/anchor_runs.hpp"
#include "experiments/run/simulate/one_gpu.hpp"
#include "experiments/run/simulate/stage.hpp"
#include "experiments/spec/resolve.hpp"

#include <cmath>

namespace foretrain::experiments {

Probe::Probe(const Point& point, RunOptions options, std::shared_ptr<KnownExchanges> exchanges)
    : point_(point), options_(std::move(options)), exchanges_(std::move(exchanges))
{
  options_.trace_path.clear();
  options_.keep_limits = false;
}

std::vector<std::vector<double>> Probe::steps(const Point& point, std::uint64_t seed,
                                              bool same_exchanges) const
{
  ResolvedExperiment experiment = resolve(with_anchors(point, options_));
  if (same_exchanges)
    experiment.exchanges = exchanges_;
  RunOptions options = options_;
  options.seed = seed;
  options.compares = true;
  Stage stage(experiment, options);
  stage.run();
  std::vector<std::vector<double>> times(experiment.jobs.size());
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i)
    for (const Seconds step : stage.job(i).step_times())
      times[i].push_back(step.value());
  return times;
}

LogRates Probe::rates(const Point& point, bool same_exchanges) const
{
  LogRates rates;
  for (const auto& times : steps(point, options_.seed, same_exchanges)) {
    double sum = 0;
    for (const double time : times)
      sum += time;
    rates.push_back(-std::log(sum / static_cast<double>(times.size())));
  }
  return rates;
}

double Probe::on_one_gpu(const Point& point, std::size_t job) const
{
  RunOptions options = options_;
  options.compares = true;
  return std::log(one_gpu_throughput(resolve(with_anchors(point, options_)), job, options));
}

} // namespace foretrain::experiments
