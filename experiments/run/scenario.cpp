#include "experiments/run/scenario.hpp"

#include "experiments/run/limits/bottleneck.hpp"
#include "experiments/run/limits/pulled.hpp"
#include "experiments/run/limits/resource_words.hpp"
#include "experiments/run/simulate/anchor_runs.hpp"
#include "experiments/run/simulate/node_use.hpp"
#include "experiments/run/simulate/one_gpu.hpp"
#include "experiments/run/simulate/parameters.hpp"
#include "experiments/run/simulate/phases.hpp"
#include "experiments/run/simulate/rates.hpp"
#include "experiments/run/simulate/sharing.hpp"
#include "experiments/run/simulate/stage.hpp"
#include "experiments/run/simulate/starts.hpp"
#include "experiments/run/simulate/synchronisation.hpp"
#include "experiments/run/simulate/tenancy.hpp"
#include "experiments/run/simulate/token_work.hpp"
#include "experiments/run/simulate/trace_file.hpp"
#include "experiments/run/training.hpp"
#include "experiments/run/uncertainty/uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr int kRuns = 9;                        // with starts at random, of jobs that share,
constexpr std::uint64_t kFlowsOfRuns = 200'000; // unless together they cost more than this

Elapsed elapsed_of(const ResolvedExperiment& experiment, std::size_t i, const models::Job& job)
{
  const ResolvedJob& resolved = experiment.jobs[i];
  return {resolved.stack.host.start + resolved.framework.start,
          asked_time(experiment, job.launched(), job.last_end())};
}

// A job without its neighbours, on the same GPUs.
struct Lone {
  Rates rates;
  Elapsed elapsed;
  LimitedPerStep limits;
};

std::vector<Lone> run_alone(const ResolvedExperiment& experiment, RunOptions options)
{
  options.keep_limits = true;
  std::vector<Lone> lone;
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i) {
    const ResolvedExperiment alone = only(experiment, i);
    Stage stage(alone, options);
    stage.run();
    lone.push_back({rates_of(stage.job(0)), elapsed_of(alone, 0, stage.job(0)),
                    limited_per_step(stage.job(0), stage.engine())});
  }
  return lone;
}

// Whether a job but this one has the GPU.
bool others_compute_on(const ResolvedExperiment& experiment, std::size_t job,
                       const sim::Resource& gpu)
{
  for (std::size_t other = 0; other < experiment.jobs.size(); ++other)
    for (const auto& place : experiment.jobs[other].ranks)
      if (other != job && gpu.node == place.node && gpu.part == fmt::format("gpu{}", place.local))
        return true;
  return false;
}

// What sharing takes from a job, and where.
void compare_alone(const ResolvedExperiment& experiment, std::size_t i, const Lone& alone,
                   const LimitedPerStep& together, JobResult& result)
{
  const auto shared = [&](const sim::Resource& resource) {
    return resource.kind != sim::ResourceKind::compute ||
           others_compute_on(experiment, i, resource);
  };
  result.alone = Alone{alone.rates.throughput, alone.rates.step_time, alone.elapsed.total()};
  result.slowdown = alone.rates.throughput.median / result.throughput.median;
  if (*result.slowdown > 1.005)
    result.meeting =
        meeting_resource(together, alone.limits, result.gpus,
                         Seconds(result.step_time.median - alone.rates.step_time.median), shared);
}

void add_speedup(const ResolvedExperiment& experiment, std::size_t i, const RunOptions& options,
                 JobResult& result)
{
  const auto& plan = experiment.jobs[i].plan;
  const bool known = plan && plan->one_gpu > 0 && !experiment.jobs[i].transformer;
  if (!known && !runs_on_one_gpu(experiment.jobs[i])) {
    // A GPU that computes its part without ever waiting stands for the one-GPU run, which a model
    // that does not fit a GPU cannot have.
    result.efficiency = (result.time.compute + result.time.recompute) / result.time.total();
    result.speedup = result.efficiency * result.gpus;
    return;
  }
  const bool one = result.gpus == 1 && experiment.jobs.size() == 1;
  const double single = known ? plan->one_gpu
                        : one ? result.throughput.median
                              : one_gpu_throughput(experiment, i, options);
  result.speedup = result.throughput.median / single;
  result.efficiency = result.speedup / result.gpus;
}

JobResult look_at(const Stage& stage, const ResolvedExperiment& experiment, std::size_t i,
                  const RunOptions& options)
{
  const models::Job& job = stage.job(i);
  const ResolvedJob& resolved = experiment.jobs[i];
  JobResult result;
  result.name = resolved.spec.name;
  result.gpus = static_cast<int>(resolved.ranks.size());
  result.memory = {device_memory(resolved), memory_left_to(experiment, i), {}};
  if (resolved.transformer)
    result.memory.parts =
        models::memory_parts(models::fullest_stage(resolved.transformer->step.memory).second);
  else if (resolved.plan)
    result.memory.parts = resolved.plan->memory;
  result.pipeline = stage.pipeline(i);
  std::set<int> nodes;
  for (const auto& place : resolved.ranks)
    nodes.insert(place.node);
  result.nodes = static_cast<int>(nodes.size());
  const Rates rates = rates_of(job, options.uncertainty.interval);
  result.step_time = rates.step_time;
  result.throughput = rates.throughput;
  result.uncertainty = Uncertainty{"steps", 0, run_to_run(job), {}};
  result.time = job.mean_times();
  result.all_reduce = job.exchange_summary();

  result.busiest = busiest_resources(stage.engine(), job, resolved.ranks, stage.foreign(i));
  if (resolved.plan || resolved.transformer)
    result.exposed_by_group = job.exposed_by_group();
  result.planned = !result.exposed_by_group.empty() || result.time.bubble.value() > 0 ||
                   result.time.recompute.value() > 0;
  if (resolved.transformer)
    result.tokens = token_work(resolved.transformer->step);
  result.bottleneck = find_bottleneck(stage.engine(), stage.machine(), job, resolved.ranks, result);
  result.bottleneck.name = limit_name(result.bottleneck);
  result.elapsed = elapsed_of(experiment, i, job);
  return result;
}

// What a run with all jobs leaves behind.
struct Together {
  std::vector<JobResult> jobs;
  std::vector<CacheHits> hits;
  std::vector<LimitedPerStep> limits;
  std::optional<NodeUse> node;
  std::vector<FabricUse> fabric;
  std::vector<double> transfers; // of each checkpoint, bytes per second
  std::uint64_t flows = 0;
};

// By all, while the first job or else the first checkpoint is measured.
std::vector<FabricUse> fabric_use(const Stage& stage, bool jobs)
{
  const sim::Engine& engine = stage.engine();
  std::vector<FabricUse> used;
  for (int r = 0; r < engine.resource_count(); ++r) {
    if (!is_fabric(engine.kind({r})))
      continue;
    const double share = jobs ? stage.job(0).utilisation({r}) : stage.transfer(0).utilisation({r});
    if (share <= 0)
      continue;
    const sim::Resource& it = engine.resource({r});
    if (const auto leaf = stage.machine().leaf_above({r}))
      used.push_back({fmt::format("uplinks of network {}, {}", leaf->network,
                                  it.direction == sim::Direction::out ? "up" : "down"),
                      leaf->first_node, share});
    else
      used.push_back({sim::name_of(it), -1, share});
  }
  return used;
}

// All jobs together. The stage is gone afterwards: those that follow need its memory.
Together run_together(const ResolvedExperiment& experiment, const RunOptions& options)
{
  Stage stage(experiment, options);
  stage.run();
  Together together;
  together.flows = stage.engine().statistics().flows;
  std::vector<const models::Job*> jobs;
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i) {
    together.jobs.push_back(look_at(stage, experiment, i, options));
    together.hits.push_back(stage.hits(i));
    together.limits.push_back(experiment.jobs.size() > 1
                                  ? limited_per_step(stage.job(i), stage.engine())
                                  : LimitedPerStep{});
    jobs.push_back(&stage.job(i));
  }
  together.fabric = fabric_use(stage, !experiment.jobs.empty());
  for (std::size_t i = 0; i < experiment.transfers.size(); ++i)
    together.transfers.push_back(stage.transfer(i).rate().value());
  if (!experiment.jobs.empty())
    together.node = node_use(stage.engine(), stage.machine(), stage.job(0),
                             experiment.jobs.front().ranks.front().node);
  if (!options.trace_path.empty())
    write_trace(options.trace_path, jobs);
  return together;
}

// How far chance moves each job's throughput from run to run.
void add_spread(const std::vector<std::vector<double>>& rates, double interval, Together& typical)
{
  for (std::size_t i = 0; i < typical.jobs.size(); ++i) {
    std::vector<double> of_job;
    for (const auto& run : rates)
      of_job.push_back(run[i]);
    JobResult& job = typical.jobs[i];
    const double spread = relative_spread(of_job);
    job.uncertainty->run_to_run = std::hypot(job.uncertainty->run_to_run, spread);
    job.throughput = widened(job.throughput, half_width(interval) * spread);
    job.step_time = widened(job.step_time, half_width(interval) * spread);
  }
}

// Starts within a step, drawn in the order of the jobs' first GPUs: the same whatever the order in
// which they are told.
std::vector<Seconds> phases_by_place(const ResolvedExperiment& experiment,
                                     const std::vector<Lone>& lone, std::uint64_t seed, int run)
{
  std::vector<std::size_t> order(lone.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto place = [&](std::size_t job) {
      const platforms::GpuPlace& first = experiment.jobs[job].ranks.front();
      return std::pair(first.node, first.local);
    };
    return place(a) < place(b);
  });
  std::vector<Seconds> steps;
  for (const std::size_t job : order)
    steps.push_back(Seconds(lone[job].rates.step_time.median));
  const std::vector<Seconds> drawn = random_phases(steps, seed, run);
  std::vector<Seconds> late(lone.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    late[order[i]] = drawn[i];
  return late;
}

// Of several runs of jobs that share, the typical one; options.late tells it from the others.
Together run_typical(const ResolvedExperiment& experiment, const std::vector<Lone>& lone,
                     RunOptions& options)
{
  RunOptions untraced = options;
  untraced.trace_path.clear();
  std::vector<Together> runs;
  std::vector<std::vector<double>> rates;
  for (int run = 0; run < kRuns; ++run) {
    untraced.late = phases_by_place(experiment, lone, options.seed, run);
    runs.push_back(run_together(experiment, untraced));
    rates.emplace_back();
    for (const JobResult& job : runs.back().jobs)
      rates.back().push_back(job.throughput.median);
    if (runs.back().flows * kRuns > kFlowsOfRuns)
      break;
  }
  const std::size_t typical = typical_run(rates);
  options.late = phases_by_place(experiment, lone, options.seed, static_cast<int>(typical));
  if (!options.trace_path.empty())
    runs[typical] = run_together(experiment, options);
  add_spread(rates, options.uncertainty.interval, runs[typical]);
  return std::move(runs[typical]);
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
      result.jobs[i].later_epochs = LaterEpochs{warm};
  }
}

// Those that write or read instead of working are no jobs any more; the others by their numbers. A
// container or a virtual machine keeps its cores and memory.
std::vector<std::size_t> add_transfers(const CheckpointTransfers& checkpoints,
                                       ResolvedExperiment& experiment)
{
  using models::fleet::Transfer;
  std::vector<std::size_t> working(experiment.jobs.size());
  std::iota(working.begin(), working.end(), std::size_t{0});
  if (!checkpoints.to.storage && !checkpoints.to.in_memory)
    return working;
  const Tenancy tenancy(experiment);
  experiment.tenants = tenancy.tenants();
  if (checkpoints.to.storage)
    experiment.checkpoint_storage = platforms::load_storage(checkpoints.to.storage);
  const auto does = [&](std::size_t i) { return checkpoints.jobs[i]; };
  for (const std::size_t i : working)
    if (does(i) != Transfer::none)
      experiment.transfers.push_back({experiment.jobs[i], does(i) == Transfer::read});
  std::erase_if(working, [&](std::size_t i) {
    return does(i) == Transfer::write_alone || does(i) == Transfer::read;
  });
  std::vector<ResolvedJob> jobs;
  for (const std::size_t i : working)
    jobs.push_back(std::move(experiment.jobs[i]));
  experiment.jobs = std::move(jobs);
  return working;
}

} // namespace

PointRates point_rates(const Point& given, const RunOptions& asked,
                       const CheckpointTransfers& checkpoints)
{
  const Point point = with_anchors(given, asked);
  ResolvedExperiment experiment = resolve(point);
  const std::size_t given_jobs = experiment.jobs.size();
  const std::vector<std::size_t> working = add_transfers(checkpoints, experiment);
  RunOptions options = asked;
  const Together together = experiment.jobs.size() > 1
                                ? run_typical(experiment, run_alone(experiment, options), options)
                                : run_together(experiment, options);
  PointRates rates;
  rates.fabric = together.fabric;
  rates.throughputs.resize(given_jobs);
  for (std::size_t i = 0; i < working.size(); ++i)
    rates.throughputs[working[i]] = together.jobs[i].throughput.median;
  rates.transfers.resize(given_jobs);
  for (std::size_t i = 0, next = 0; i < checkpoints.jobs.size(); ++i)
    if (checkpoints.jobs[i] != models::fleet::Transfer::none)
      rates.transfers[i] = together.transfers[next++];
  return rates;
}

std::vector<double> point_throughputs(const Point& point, const RunOptions& options)
{
  return point_rates(point, options).throughputs;
}

PointResult run_point(const Point& given, const RunOptions& asked)
{
  const Point point = with_anchors(given, asked);
  const ResolvedExperiment experiment = resolve(point);
  RunOptions options = asked;
  const bool several = experiment.jobs.size() > 1;
  const std::vector<Lone> lone = several ? run_alone(experiment, options) : std::vector<Lone>{};
  Together together =
      several ? run_typical(experiment, lone, options) : run_together(experiment, options);
  PointResult result;
  result.settings = point.settings;
  result.flows = together.flows;
  result.late = options.late;
  result.jobs = std::move(together.jobs);
  result.node = std::move(together.node);
  if (experiment.storage)
    add_later_epochs(experiment, together.hits, options, result);
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i) {
    JobResult& job = result.jobs[i];
    add_speedup(experiment, i, options, job);
    if (several)
      compare_alone(experiment, i, lone[i], together.limits[i], job);
    for (const auto& warning : experiment.jobs[i].warnings)
      result.warnings.push_back(warning);
  }
  std::vector<Range> of_steps; // throughputs by what steps vary alone
  for (const JobResult& job : result.jobs)
    of_steps.push_back(job.throughput);
  add_uncertainty(point, experiment, options, result);
  if (several)
    result.joint = joint_score(result.jobs);
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i)
    if (experiment.jobs[i].spec.mode == JobMode::inference)
      result.jobs[i].latency = result.jobs[i].step_time;
  for (JobResult& job : result.jobs)
    if (job.tokens)
      add_token_rates(job);
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i)
    add_training(experiment, i, of_steps[i], result.jobs[i]);
  use_link_words(experiment.platform.gpu.vendor, result);
  result.parameters = effective_parameters(experiment);
  if (point.profiles)
    result.unused = point.profiles->unused(experiment.presets);
  return result;
}

std::vector<double> quick_throughputs(const Point& point, const RunOptions& options)
{
  return throughputs_with(resolve(with_anchors(point, options)), {}, 1, options);
}

} // namespace foretrain::experiments
