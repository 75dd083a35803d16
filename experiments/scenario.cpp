#include "experiments/scenario.hpp"

#include "experiments/bottleneck.hpp"
#include "experiments/parameters.hpp"
#include "experiments/resolve.hpp"
#include "experiments/trace_file.hpp"
#include "platforms/rings.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Engine, machine and jobs of one run. Jobs hold references into it: it must not move.
class Stage {
public:
  Stage(const ResolvedExperiment& experiment, const RunOptions& options)
      : machine_(engine_, experiment.platform, experiment.stack, experiment.nodes)
  {
    for (const auto& [link, burst] : machine_.shaped())
      shaped_.push_back(std::make_unique<sim::TokenBucket>(engine_, link, burst.value()));
    for (const ResolvedJob& job : experiment.jobs)
      add_job(job, options);
  }

  void run()
  {
    for (const auto& job : jobs_)
      job->launch(nullptr);
    engine_.run();
  }

  const sim::Engine& engine() const { return engine_; }
  const platforms::Machine& machine() const { return machine_; }
  const models::TrainingJob& job(std::size_t i) const { return *jobs_[i]; }
  const models::Collective* all_reduce(std::size_t i) const { return all_reduces_[i].get(); }

private:
  void add_job(const ResolvedJob& job, const RunOptions& options)
  {
    models::JobSetup setup;
    setup.name = job.spec.name;
    setup.ranks = static_cast<int>(job.ranks.size());
    setup.batch = job.spec.batch_per_gpu;
    for (const auto& place : job.ranks) {
      setup.compute.push_back(machine_.compute(place));
      setup.compute_paths.push_back(machine_.compute_path(place));
    }
    setup.compute_priority = machine_.compute_priority();
    setup.profile = job.profile;
    setup.framework = job.framework;
    setup.fidelity = options.fidelity;
    setup.seed = options.seed;
    setup.warmup_steps = job.spec.warmup_steps;
    setup.measured_steps = job.measured_steps;
    setup.start = job.spec.start;
    all_reduces_.push_back(nullptr);
    if (setup.ranks > 1) {
      auto communicator = platforms::make_communicator(machine_, job.ranks, "job " + job.spec.name);
      const double channels = static_cast<double>(communicator.channels.size());
      all_reduces_.back() = std::make_unique<models::Collective>(
          engine_, std::move(communicator), job.library, models::Operation::all_reduce,
          job.framework.algorithm);
      setup.synchroniser = std::make_shared<models::AllReduce>(*all_reduces_.back());
      for (const auto& link : shaped_)
        if (const double units = all_reduces_.back()->used(link->resource(), options.fidelity);
            units > 0)
          setup.shaped.push_back({link.get(), units});
      const bool half = job.spec.precision == "fp16" || job.spec.precision == "bf16";
      const int gradient = job.framework.gradient_precision == "compute" && half ? 2 : 4;
      setup.buckets = models::plan_buckets(job.network, job.profile, job.framework, gradient);
      const platforms::Gpu& gpu = machine_.spec().gpu;
      setup.fusion_copy = 0.5 * gpu.memory_efficiency * gpu.memory_bandwidth; // read and write
      if (job.framework.overlap != "none")
        setup.stolen_by_communication =
            std::min(0.5, channels * job.library.blocks_per_channel / gpu.multiprocessors);
    }
    jobs_.push_back(std::make_unique<models::TrainingJob>(engine_, std::move(setup)));
  }

  sim::Engine engine_;
  platforms::Machine machine_;
  std::vector<std::unique_ptr<sim::TokenBucket>> shaped_;
  std::vector<std::unique_ptr<models::Collective>> all_reduces_;
  std::vector<std::unique_ptr<models::TrainingJob>> jobs_;
};

double quantile(std::vector<double> sorted, double q)
{
  std::sort(sorted.begin(), sorted.end());
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = position - static_cast<double>(below);
  return sorted[below] * (1 - part) + sorted[above] * part;
}

Range range_of(const std::vector<double>& values)
{
  return {quantile(values, 0.5), quantile(values, 0.05), quantile(values, 0.95), 0.9};
}

// Throughput of the same job alone on one GPU of the same machine and stack.
double one_gpu_throughput(ResolvedExperiment experiment, std::size_t job, const RunOptions& options)
{
  ResolvedJob alone = experiment.jobs[job];
  alone.ranks.resize(1);
  alone.ranks[0] = {0, 0};
  alone.spec.start = Seconds(0);
  experiment.jobs = {alone};
  experiment.nodes = 1;
  Stage stage(experiment, options);
  stage.run();
  std::vector<double> rates;
  for (const Seconds step : stage.job(0).step_times())
    rates.push_back(alone.spec.batch_per_gpu / step.value());
  return quantile(rates, 0.5);
}

std::string all_reduce_text(const models::Collective& all_reduce, const models::JobSetup& setup)
{
  const auto largest = std::max_element(
      setup.buckets.begin(), setup.buckets.end(),
      [](const models::Bucket& a, const models::Bucket& b) { return a.size < b.size; });
  const auto choice = all_reduce.choose(largest->size, setup.fidelity);
  return fmt::format("{} {}, {} channels, {} buckets of up to {}", choice.algorithm,
                     choice.protocol, all_reduce.communicator().channels.size(),
                     setup.buckets.size(), to_text(largest->size));
}

JobResult look_at(const Stage& stage, const ResolvedExperiment& experiment, std::size_t i,
                  const RunOptions& options)
{
  const models::TrainingJob& job = stage.job(i);
  const ResolvedJob& resolved = experiment.jobs[i];
  JobResult result;
  result.name = resolved.spec.name;
  result.gpus = static_cast<int>(resolved.ranks.size());
  std::set<int> nodes;
  for (const auto& place : resolved.ranks)
    nodes.insert(place.node);
  result.nodes = static_cast<int>(nodes.size());
  std::vector<double> steps;
  std::vector<double> rates;
  for (const Seconds step : job.step_times()) {
    steps.push_back(step.value());
    rates.push_back(resolved.spec.batch_per_gpu * result.gpus / step.value());
  }
  result.step_time = range_of(steps);
  result.throughput = range_of(rates);
  result.time = job.mean_times();
  const double single = result.gpus == 1 && experiment.jobs.size() == 1
                            ? result.throughput.median
                            : one_gpu_throughput(experiment, i, options);
  result.speedup = result.throughput.median / single;
  result.efficiency = result.speedup / result.gpus;
  if (const auto* all_reduce = stage.all_reduce(i))
    result.all_reduce = all_reduce_text(*all_reduce, job.setup());
  result.busiest = busiest_resources(stage.engine(), resolved.ranks, job.last_end());
  result.bottleneck = find_bottleneck(stage.engine(), stage.machine(), job, resolved.ranks, result);
  return result;
}

} // namespace

PointResult run_point(const Point& point, const RunOptions& options)
{
  const ResolvedExperiment experiment = resolve(point);
  Stage stage(experiment, options);
  stage.run();
  PointResult result;
  result.settings = point.settings;
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i) {
    result.jobs.push_back(look_at(stage, experiment, i, options));
    for (const auto& warning : experiment.jobs[i].warnings)
      result.warnings.push_back(warning);
  }
  result.parameters = effective_parameters(experiment);
  if (point.profiles)
    result.unused = point.profiles->unused(experiment.presets);
  if (!options.trace_path.empty()) {
    std::vector<const models::TrainingJob*> jobs;
    for (std::size_t i = 0; i < experiment.jobs.size(); ++i)
      jobs.push_back(&stage.job(i));
    write_trace(options.trace_path, jobs);
  }
  return result;
}

} // namespace foretrain::experiments
