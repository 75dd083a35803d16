#include "experiments/run/uncertainty/uncertainty.hpp"

#include "calibration/correlated.hpp"
#include "calibration/spreads.hpp"
#include "experiments/run/keep/range.hpp"
#include "experiments/run/limits/gains.hpp"
#include "experiments/run/simulate/one_gpu.hpp"
#include "experiments/run/simulate/tenancy.hpp"
#include "experiments/run/uncertainty/linear_spreads.hpp"
#include "experiments/run/uncertainty/unexplained.hpp"
#include "sim/engine/random.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr int kCheapGpus = 64;                // up to which parameters are varied unasked,
constexpr std::uint64_t kCheapFlows = 200000; // unless the run itself was long

// Relative standard deviation of a job's rate in which no parameter differs: between runs, and
// what of a transformer's step is not modelled.
// Runs that taught a profile hold it in what its fit left over, but not what comes on top where
// tenants ask for more cores than there are.
double between_runs(const ResolvedExperiment& experiment, std::size_t job,
                    const std::vector<Uncertainty::Part>& left)
{
  const bool shared = experiment.jobs.size() > 1 && experiment.platform.gpu.on_host() &&
                      Tenancy(experiment).crowded(experiment.jobs.front().ranks.front().node);
  double variance = 0;
  for (const calibration::SpreadLine& line : calibration::load_spreads().spreads)
    if ((line.kind == "run" && left.empty()) || (line.kind == "shared-cores" && shared) ||
        (line.kind == "transformer" && experiment.jobs[job].transformer))
      variance += line.spread * line.spread;
  return std::sqrt(variance);
}

RatesOf rates_by(const Probe& probe)
{
  return [&probe](const Point& point, bool same_exchanges) {
    return probe.rates(point, same_exchanges);
  };
}

// Effects of parameters on the rate over that of one GPU, in which what both have in common
// cancels.
LogRates speedup_effects(const Probe& probe, std::size_t job,
                         const std::vector<Variable>& variables,
                         const std::vector<LogRates>& effects)
{
  const auto on_one_gpu = [&](const Point& point, bool) {
    return LogRates{probe.on_one_gpu(point, job)};
  };
  const auto of_one = linear_effects(probe.point(), on_one_gpu, variables);
  LogRates differences;
  for (std::size_t v = 0; v < variables.size(); ++v)
    differences.push_back(effects[v][job] - of_one[v][0]);
  return differences;
}

// A job that is one GPU alone has the speedup 1, whatever its parameters.
void add_speedup_range(const Probe& probe, const ResolvedExperiment& experiment, std::size_t i,
                       const std::vector<Variable>& variables, const std::vector<LogRates>& effects,
                       const std::vector<std::vector<double>>& matrix, double interval,
                       JobResult& job)
{
  const bool itself = job.gpus == 1 && experiment.jobs.size() == 1;
  if (itself || !runs_on_one_gpu(experiment.jobs[i]))
    return;
  std::vector<LogRates> of_ratio;
  for (const double effect : speedup_effects(probe, i, variables, effects))
    of_ratio.push_back({effect});
  const double both_runs = std::sqrt(2.0) * job.uncertainty->run_to_run;
  job.speedup_range = rate_widened({job.speedup, job.speedup, job.speedup, interval},
                                   deviations_of(variables, of_ratio, matrix, 0), both_runs);
}

void add_linear(const Probe& probe, const ResolvedExperiment& experiment,
                const std::vector<Variable>& variables, double interval, PointResult& result)
{
  const auto effects = linear_effects(probe.point(), rates_by(probe), variables);
  const auto matrix = correlations(probe.point(), variables);
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    JobResult& job = result.jobs[i];
    job.uncertainty->method = "linear";
    const auto left = leftovers(probe.point(), variables, effects, i);
    const Deviations deviations = deviations_of(variables, effects, matrix, i);
    job.uncertainty->parameters = std::hypot(deviations.larger(), deviation_of(left));
    job.uncertainty->parts = parts_of(variables, effects, i, left);
    const double runs = between_runs(experiment, i, left);
    job.uncertainty->run_to_run = std::hypot(job.uncertainty->run_to_run, runs);
    const double beside = std::hypot(deviation_of(left), runs);
    job.throughput = rate_widened(job.throughput, deviations, beside);
    job.step_time = time_widened(job.step_time, deviations, beside);
    add_speedup_range(probe, experiment, i, variables, effects, matrix, interval, job);
  }
}

struct Samples {
  std::vector<std::vector<double>> draws;      // [sample][variable], standard normal
  std::vector<std::vector<double>> mean;       // [job][sample], logarithm of throughput
  std::vector<std::vector<double>> every_step; // [job], the same of each step
  std::vector<double> within;                  // [job], variance of a sample's mean from its steps
};

Samples draw(const Probe& probe, const std::vector<Variable>& variables, const RunOptions& options,
             std::size_t jobs)
{
  const auto root = calibration::correlation_root(correlations(probe.point(), variables));
  Samples samples;
  samples.mean.resize(jobs);
  samples.every_step.resize(jobs);
  samples.within.resize(jobs);
  for (int s = 0; s < options.uncertainty.samples; ++s) {
    const auto number = static_cast<std::uint64_t>(s);
    sim::RandomStream random(options.seed, "uncertainty", number);
    std::vector<double> z;
    for (std::size_t v = 0; v < variables.size(); ++v)
      z.push_back(random.normal());
    samples.draws.emplace_back();
    std::vector<double> shift;
    for (std::size_t v = 0; v < variables.size(); ++v) {
      double correlated = 0;
      for (std::size_t k = 0; k < z.size(); ++k)
        correlated += root[v][k] * z[k];
      samples.draws.back().push_back(correlated);
      shift.push_back(correlated * variables[v].spread);
    }
    const auto steps =
        probe.steps(shifted(probe.point(), variables, shift), options.seed + 1 + number);
    for (std::size_t i = 0; i < jobs; ++i) {
      const auto n = static_cast<double>(steps[i].size());
      double sum = 0;
      for (const double step : steps[i]) {
        sum += step;
        samples.every_step[i].push_back(-std::log(step));
      }
      samples.mean[i].push_back(-std::log(sum / n));
      samples.within[i] += variance(steps[i]) * n / (sum * sum) / options.uncertainty.samples;
    }
  }
  return samples;
}

// Slope of the logarithm of throughput over each draw.
std::vector<LogRates> sampled_effects(const Samples& samples, std::size_t variables)
{
  const auto n = static_cast<double>(samples.draws.size());
  std::vector<LogRates> effects(variables, LogRates(samples.mean.size(), 0));
  for (std::size_t v = 0; v < variables; ++v)
    for (std::size_t i = 0; i < samples.mean.size(); ++i) {
      double x = 0, y = 0, xx = 0, xy = 0;
      for (std::size_t s = 0; s < samples.draws.size(); ++s) {
        const double z = samples.draws[s][v];
        x += z / n;
        y += samples.mean[i][s] / n;
        xx += z * z / n;
        xy += z * samples.mean[i][s] / n;
      }
      effects[v][i] = xx > x * x ? (xy - x * y) / (xx - x * x) : 0;
    }
  return effects;
}

void add_samples(const Probe& probe, const ResolvedExperiment& experiment,
                 const std::vector<Variable>& variables, const RunOptions& options,
                 PointResult& result)
{
  const Samples samples = draw(probe, variables, options, result.jobs.size());
  const auto effects = sampled_effects(samples, variables.size());
  // Shares of a step are small differences, too small for slopes of scattered samples, and so is
  // what one GPU and several do not share.
  const auto linear = linear_effects(probe.point(), rates_by(probe), variables);
  const auto matrix = correlations(probe.point(), variables);
  const double interval = options.uncertainty.interval;
  const LogRates base = probe.rates(probe.point(), true);
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    JobResult& job = result.jobs[i];
    job.uncertainty->method = "monte-carlo";
    const auto left = leftovers(probe.point(), variables, linear, i);
    const double beside = deviation_of(left);
    job.uncertainty->parameters =
        std::sqrt(std::max(0.0, variance(samples.mean[i]) - samples.within[i]) + beside * beside);
    job.uncertainty->parts = parts_of(variables, effects, i, left);
    const double runs = between_runs(experiment, i, left);
    job.uncertainty->run_to_run = std::hypot(job.uncertainty->run_to_run, runs);
    // Around the median of the long run; short runs say how far from it.
    const double below = quantile(samples.every_step[i], 0.5 - interval / 2) - base[i];
    const double above = quantile(samples.every_step[i], 0.5 + interval / 2) - base[i];
    const auto around = [&](const Range& range, double low, double high) {
      const Range sampled{range.median, range.median * std::min(1.0, std::exp(low)),
                          range.median * std::max(1.0, std::exp(high)), interval};
      return widened(sampled, half_width(interval) * std::hypot(beside, runs));
    };
    job.throughput = around(job.throughput, below, above);
    job.step_time = around(job.step_time, -above, -below);
    add_speedup_range(probe, experiment, i, variables, linear, matrix, interval, job);
  }
}

// Which guest it is, whatever the way in which parameters vary: the slow side alone.
void add_guests(const ResolvedExperiment& experiment, double interval, PointResult& result)
{
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    const platforms::Host& host = experiment.jobs[i].stack.host;
    if (host.quality.empty())
      continue;
    JobResult& job = result.jobs[i];
    const double slower = platforms::slower_guest(host.quality, interval);
    job.uncertainty->guest = GuestSpread{host.name, slower};
    job.throughput = widened(job.throughput, slower, 0);
    job.step_time = widened(job.step_time, 0, slower);
  }
}

void add_parameters(const Point& point, const ResolvedExperiment& experiment,
                    const RunOptions& options, PointResult& result)
{
  std::size_t gpus = 0; // that are simulated one by one
  for (const ResolvedJob& job : experiment.jobs)
    gpus += job.transformer ? 1 : job.ranks.size();
  const bool cheap = gpus <= kCheapGpus && result.flows <= kCheapFlows;
  if (cheap && options.doubles_limits)
    add_gains(experiment, options, result);
  UncertaintyMethod method = options.uncertainty.method;
  if (method == UncertaintyMethod::automatic)
    method = cheap ? UncertaintyMethod::linear : UncertaintyMethod::steps;
  if (method == UncertaintyMethod::steps)
    return;
  const auto variables = variables_of(experiment, point);
  const Probe probe(point, options, experiment.exchanges);
  if (method == UncertaintyMethod::linear)
    add_linear(probe, experiment, variables, options.uncertainty.interval, result);
  else
    add_samples(probe, experiment, variables, options, result);
}

} // namespace

void add_uncertainty(const Point& point, const ResolvedExperiment& experiment,
                     const RunOptions& options, PointResult& result)
{
  add_parameters(point, experiment, options, result);
  add_guests(experiment, options.uncertainty.interval, result);
}

} // namespace foretrain::experiments
