#include "experiments/scenario.hpp"

#include "experiments/bottleneck.hpp"
#include "experiments/parameters.hpp"
#include "experiments/resolve.hpp"
#include "experiments/sharing.hpp"
#include "experiments/stage.hpp"
#include "experiments/synchronisation.hpp"
#include "experiments/trace_file.hpp"
#include "experiments/uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

double quantile(std::vector<double> sorted, double q)
{
  std::sort(sorted.begin(), sorted.end());
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = position - static_cast<double>(below);
  return sorted[below] * (1 - part) + sorted[above] * part;
}

Range range_of(const std::vector<double>& values, double interval)
{
  return {quantile(values, 0.5), quantile(values, 0.5 - interval / 2),
          quantile(values, 0.5 + interval / 2), interval};
}

struct Rates {
  Range throughput;
  Range step_time;
};

Rates rates_of(const models::TrainingJob& job, double interval = 0.9)
{
  const double samples = static_cast<double>(job.setup().batch) * job.setup().ranks;
  std::vector<double> steps;
  std::vector<double> rates;
  for (const Seconds step : job.step_times()) {
    steps.push_back(step.value());
    rates.push_back(samples / step.value());
  }
  return {range_of(rates, interval), range_of(steps, interval)};
}

// Relative standard deviation of the mean step over the measured ones.
double run_to_run(const models::TrainingJob& job)
{
  const auto& steps = job.step_times();
  const auto n = static_cast<double>(steps.size());
  double mean = 0;
  double square = 0;
  for (const Seconds step : steps) {
    mean += step.value() / n;
    square += step.value() * step.value() / n;
  }
  return n > 1 ? std::sqrt(std::max(0.0, square - mean * mean) / (n - 1)) / mean : 0;
}

ResolvedExperiment only(ResolvedExperiment experiment, std::size_t job)
{
  ResolvedJob alone = experiment.jobs[job];
  alone.spec.start = Seconds(0);
  experiment.jobs = {std::move(alone)};
  return experiment;
}

// Throughput of the same job alone on one GPU of the same machine and stack.
double one_gpu_throughput(const ResolvedExperiment& experiment, std::size_t job,
                          const RunOptions& options)
{
  ResolvedExperiment single = only(experiment, job);
  single.jobs.front().ranks = {{0, 0}};
  single.jobs.front().server_nodes.clear();
  single.nodes = 1;
  Stage stage(single, options);
  stage.run();
  return rates_of(stage.job(0)).throughput.median;
}

// The job alone on the same GPUs, and where sharing takes its time from it.
void compare_alone(const ResolvedExperiment& experiment, std::size_t i,
                   const LimitedPerStep& together, const RunOptions& options, JobResult& result)
{
  RunOptions alone_options = options;
  alone_options.keep_limits = true;
  Stage alone(only(experiment, i), alone_options);
  alone.run();
  const Rates rates = rates_of(alone.job(0));
  result.alone = Alone{rates.throughput, rates.step_time};
  result.slowdown = rates.throughput.median / result.throughput.median;
  if (*result.slowdown > 1.005)
    result.meeting =
        meeting_resource(together, limited_per_step(alone.job(0), alone.engine()), result.gpus);
}

// Time for as many epochs as the job is to run.
void add_training(const ResolvedJob& resolved, JobResult& result)
{
  if (!resolved.spec.epochs)
    return;
  const double samples = resolved.input.dataset.samples;
  const double later = result.later_epochs ? result.later_epochs->median : result.throughput.median;
  const double epochs = *resolved.spec.epochs;
  Training training;
  training.first_epoch = Seconds(samples / result.throughput.median);
  training.later_epoch = Seconds(samples / later);
  training.total = result.elapsed.start_up + std::min(1.0, epochs) * training.first_epoch +
                   std::max(0.0, epochs - 1) * training.later_epoch;
  result.training = training;
}

void add_speedup(const ResolvedExperiment& experiment, std::size_t i, const RunOptions& options,
                 JobResult& result)
{
  const double single = result.gpus == 1 && experiment.jobs.size() == 1
                            ? result.throughput.median
                            : one_gpu_throughput(experiment, i, options);
  result.speedup = result.throughput.median / single;
  result.efficiency = result.speedup / result.gpus;
}

JobResult look_at(const Stage& stage, const ResolvedExperiment& experiment, std::size_t i,
                  const RunOptions& options)
{
  const models::TrainingJob& job = stage.job(i);
  const ResolvedJob& resolved = experiment.jobs[i];
  JobResult result;
  result.name = resolved.spec.name;
  result.gpus = static_cast<int>(resolved.ranks.size());
  result.memory = {
      models::training_memory(resolved.network, resolved.spec.batch_per_gpu, resolved.device),
      experiment.platform.gpu.memory};
  std::set<int> nodes;
  for (const auto& place : resolved.ranks)
    nodes.insert(place.node);
  result.nodes = static_cast<int>(nodes.size());
  const Rates rates = rates_of(job, options.uncertainty.interval);
  result.step_time = rates.step_time;
  result.throughput = rates.throughput;
  result.uncertainty = Uncertainty{"steps", 0, run_to_run(job), {}};
  result.time = job.mean_times();
  result.all_reduce = synchronisation_text(job.setup());

  result.busiest = busiest_resources(stage.engine(), job, resolved.ranks);
  result.bottleneck = find_bottleneck(stage.engine(), stage.machine(), job, resolved.ranks, result);
  result.elapsed = {resolved.stack.host.start + resolved.framework.start,
                    job.last_end() - job.launched()};
  return result;
}

// What the run with all jobs leaves behind for what follows it.
struct Traces {
  std::vector<CacheHits> hits;
  std::vector<LimitedPerStep> limits;
};

// All jobs together. The stage is gone afterwards: those that follow need its memory.
Traces run_together(const ResolvedExperiment& experiment, const RunOptions& options,
                    PointResult& result)
{
  Stage stage(experiment, options);
  stage.run();
  result.flows = stage.engine().statistics().flows;
  Traces traces;
  std::vector<const models::TrainingJob*> jobs;
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i) {
    result.jobs.push_back(look_at(stage, experiment, i, options));
    traces.hits.push_back(stage.hits(i));
    traces.limits.push_back(experiment.jobs.size() > 1
                                ? limited_per_step(stage.job(i), stage.engine())
                                : LimitedPerStep{});
    jobs.push_back(&stage.job(i));
  }
  if (!options.trace_path.empty())
    write_trace(options.trace_path, jobs);
  return traces;
}

// The same with warm caches, if these make a difference to any job.
void add_later_epochs(const ResolvedExperiment& experiment, const std::vector<CacheHits>& first,
                      const RunOptions& options, PointResult& result)
{
  Stage later(experiment, options, Epoch::later);
  bool differs = false;
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i)
    differs |= later.hits(i).node != first[i].node || later.hits(i).server != first[i].server;
  if (!differs)
    return;
  later.run();
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i) {
    const Range warm = rates_of(later.job(i)).throughput;
    if (!experiment.jobs[i].input.synthetic &&
        std::abs(warm.median / result.jobs[i].throughput.median - 1) > 0.001)
      result.jobs[i].later_epochs = warm;
  }
}

} // namespace

PointResult run_point(const Point& point, const RunOptions& options)
{
  const ResolvedExperiment experiment = resolve(point);
  PointResult result;
  result.settings = point.settings;
  const Traces traces = run_together(experiment, options, result);
  if (experiment.storage)
    add_later_epochs(experiment, traces.hits, options, result);
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i) {
    JobResult& job = result.jobs[i];
    add_speedup(experiment, i, options, job);
    if (experiment.jobs.size() > 1)
      compare_alone(experiment, i, traces.limits[i], options, job);
    add_training(experiment.jobs[i], job);
    for (const auto& warning : experiment.jobs[i].warnings)
      result.warnings.push_back(warning);
  }
  add_uncertainty(point, experiment, options, result);
  result.parameters = effective_parameters(experiment);
  if (point.profiles)
    result.unused = point.profiles->unused(experiment.presets);
  return result;
}

std::vector<double> quick_throughputs(const Point& point, const RunOptions& options, int steps)
{
  ResolvedExperiment experiment = resolve(point);
  for (ResolvedJob& job : experiment.jobs)
    job.measured_steps = std::min(job.measured_steps, steps);
  Stage stage(experiment, options);
  stage.run();
  std::vector<double> medians;
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i)
    medians.push_back(rates_of(stage.job(i)).throughput.median);
  return medians;
}

} // namespace foretrain::experiments
