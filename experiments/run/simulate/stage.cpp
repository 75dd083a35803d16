#include "experiments/run/simulate/stage.hpp"

#include "experiments/run/simulate/plan_machine.hpp"
#include "experiments/run/simulate/plan_writer.hpp"
#include "experiments/run/simulate/starts.hpp"
#include "experiments/run/simulate/synchronisation.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Steps measured in a run that is compared with another: of parameters, levers, settings, ways to
// simulate collectives. Those of a job on its own repeat themselves but for what kernels vary,
// which is drawn alike on both sides. Where buckets leave at multiples of a cycle, input is read or
// jobs drift past each other, few steps make small changes look large.
constexpr int kEvenSteps = 4;
constexpr int kUnevenSteps = 12;

} // namespace

Stage::Stage(const ResolvedExperiment& experiment, const RunOptions& options, Epoch epoch)
    : machine_(engine_, experiment.platform, experiment.stack, experiment.nodes,
               experiment.pcie_scale),
      tenancy_(experiment)
{
  if (experiment.storage)
    storage_ = std::make_unique<platforms::StorageSystem>(engine_, machine_, *experiment.storage,
                                                          experiment.storage_at);
  for (const auto& [link, burst] : machine_.shaped())
    shaped_.push_back(std::make_unique<sim::TokenBucket>(engine_, link, burst.value()));
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i)
    add_view(experiment, i);
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i)
    add_job(experiment, i, options, epoch);
  add_transfers(experiment);
}

void Stage::run()
{
  std::size_t measured = 0;
  const auto one_more = [this, &measured] {
    if (++measured < jobs_.size() + transfers_.size())
      return;
    for (const auto& job : jobs_)
      job->stop();
    for (const auto& transfer : transfers_)
      transfer->stop();
  };
  for (const auto& job : jobs_)
    job->launch(one_more);
  for (const auto& transfer : transfers_)
    transfer->launch(one_more);
  engine_.run();
}

// They write to what jobs read from, where that is the same.
void Stage::add_transfers(const ResolvedExperiment& experiment)
{
  if (experiment.transfers.empty())
    return;
  const platforms::StorageSystem* storage = storage_.get();
  if (const auto& to = experiment.checkpoint_storage;
      to && !(storage_ && storage_->storage().origin.json() == to->origin.json())) {
    checkpoint_storage_ =
        std::make_unique<platforms::StorageSystem>(engine_, machine_, *to, experiment.storage_at);
    storage = checkpoint_storage_.get();
  }
  for (const CheckpointTransfer& it : experiment.transfers) {
    views_.push_back(std::make_unique<platforms::Machine>(machine_.tenant(it.job.stack, {})));
    const platforms::Machine& view = *views_.back();
    const auto movers = checkpoint_movers(it.job);
    const PathFrom path = !experiment.checkpoint_storage
                              ? between_memories(view, it.job.ranks, it.reads)
                          : it.reads ? from_storage(view, *storage, movers)
                                     : into_storage(view, *storage);
    transfers_.push_back(std::make_unique<CheckpointMover>(engine_, view, path, movers, it.reads));
  }
}

void Stage::add_view(const ResolvedExperiment& experiment, std::size_t i)
{
  const ResolvedJob& job = experiment.jobs[i];
  std::vector<sim::ResourceId> core_sets;
  if (tenancy_.confined(i))
    for (int node = 0; node < experiment.nodes; ++node)
      core_sets.push_back(engine_.add_resource({sim::ResourceKind::cores, node, job.spec.name},
                                               tenancy_.cores(i, node)));
  views_.push_back(
      std::make_unique<platforms::Machine>(machine_.tenant(job.stack, std::move(core_sets))));
}

bool Stage::shares_input(const ResolvedExperiment& experiment, std::size_t i) const
{
  const auto reads = [&](std::size_t j) { return !experiment.jobs[j].input.synthetic; };
  bool others = false;
  for (std::size_t j = 0; j < experiment.jobs.size(); ++j)
    others = others || (j != i && reads(j));
  return reads(i) && others &&
         ((experiment.storage && !experiment.storage->local()) ||
          !shared_nodes(experiment, i).empty());
}

models::JobSchedule Stage::schedule_of(const ResolvedExperiment& experiment, std::size_t i,
                                       const RunOptions& options) const
{
  const ResolvedJob& job = experiment.jobs[i];
  models::JobSchedule schedule;
  schedule.name = job.spec.name;
  schedule.seed = options.seed;
  schedule.warmup_steps = job.spec.warmup_steps;
  schedule.measured_steps = job.measured_steps;
  if (options.compares) {
    const bool even = job.framework.fusion_cycle.value() <= 0 && job.input.synthetic &&
                      shared_nodes(experiment, i).empty();
    schedule.measured_steps = std::min(schedule.measured_steps, even ? kEvenSteps : kUnevenSteps);
    if (job.input.synthetic) // nothing has to fill up
      schedule.warmup_steps = std::min(schedule.warmup_steps, 1);
  }
  auto starts = simulated_starts(experiment);
  for (std::size_t j = 0; j < std::min(starts.size(), options.late.size()); ++j)
    starts[j] += options.late[j];
  schedule.start = starts[i];
  const bool others = experiment.jobs.size() + experiment.transfers.size() > 1;
  if (others && !job.spec.ends) {
    schedule.keep_running = true;
    schedule.measures_on = shares_input(experiment, i);
    schedule.settling = settling_;
    schedule.measure_from = *std::max_element(starts.begin(), starts.end());
  }
  if (options.progress)
    schedule.on_step = [tell = options.progress, name = job.spec.name,
                        last = schedule.warmup_steps + schedule.measured_steps](int step) {
      tell(fmt::format("{}: step {} of {}", name, std::min(step, last), last));
    };
  return schedule;
}

void Stage::add_job(const ResolvedExperiment& experiment, std::size_t i, const RunOptions& options,
                    Epoch epoch)
{
  const ResolvedJob& job = experiment.jobs[i];
  pipelines_.emplace_back();
  hits_.emplace_back();
  JobParts parts;
  std::shared_ptr<const models::WorkPlan> plan = job.plan;
  if (job.plan || job.transformer)
    parts.shared = shared_nodes(experiment, i);
  if (job.transformer) {
    models::DividedPlan written =
        write_plan(experiment, i, options.fidelity,
                   parts.shared.empty() ? PlanFor::evaluation : PlanFor::simulation);
    plan = std::make_shared<const models::WorkPlan>(std::move(written.work));
    pipelines_.back() = std::move(written.pipeline);
  } else if (!plan) {
    std::vector<bool> apart = gpus_apart(experiment, i, tenancy_);
    const GpuStages stages = stages_of(experiment, i, epoch);
    if (!stages.empty())
      keep_alike(engine_, stages, apart);
    DataParallelJob made = data_parallel_job(job, apart, engine_, *views_[i]);
    plan = std::move(made.plan);
    parts.synchroniser = std::move(made.synchroniser);
    parts.all_reduce = std::move(made.all_reduce);
    for (const sim::WorkRank& rank : plan->program.ranks)
      if (!stages.empty())
        parts.input.push_back(std::make_unique<models::InputPipeline>(
            engine_, folded_stages(stages, rank.device, rank.stands_for)));
  }
  for (const auto& link : shaped_)
    parts.shaped.push_back(link.get());
  // The process behind a GPU takes part of a core; that matters where threads decode, or cores can
  // run short.
  for (const auto& place : job.ranks) {
    const bool asked = !job.input.synthetic || tenancy_.crowded(place.node);
    parts.host_threads.push_back(asked ? job.framework.host_threads : 0);
  }
  models::JobSchedule schedule = schedule_of(experiment, i, options);
  schedule.samples_per_step = plan->samples_per_step;
  models::ProgramSetup setup;
  setup.stream = fmt::format("job{}", job.chance);
  setup.speed_variation = experiment.platform.gpu.speed_variation;
  setup.in_step = job.spec.mode != JobMode::inference;
  setup.keep_limits = options.keep_limits || experiment.jobs.size() > 1;
  auto machine = std::make_unique<PlanMachine>(engine_, *views_[i], job, *plan, options.fidelity,
                                               std::move(parts));
  jobs_.push_back(std::make_unique<models::ProgramJob>(engine_, std::move(schedule),
                                                       std::move(plan), std::move(machine), setup));
}

std::set<int> Stage::shared_nodes(const ResolvedExperiment& experiment, std::size_t i) const
{
  std::vector<std::set<int>> nodes(experiment.jobs.size());
  for (std::size_t job = 0; job < nodes.size(); ++job)
    for (const auto& place : experiment.jobs[job].ranks)
      nodes[job].insert(place.node);
  std::set<int> shared;
  for (std::size_t other = 0; other < nodes.size(); ++other) {
    if (other == i)
      continue;
    const bool uses_network = nodes[other].size() > 1 || !experiment.jobs[other].input.synthetic;
    if (machine_.shares_uplinks() && nodes[i].size() > 1 && uses_network)
      return nodes[i];
    for (const int node : nodes[other])
      if (nodes[i].contains(node))
        shared.insert(node);
  }
  for (const CheckpointTransfer& it : experiment.transfers)
    for (const auto& place : checkpoint_movers(it.job))
      if (nodes[i].contains(place.node))
        shared.insert(place.node);
  return shared;
}

GpuStages Stage::stages_of(const ResolvedExperiment& experiment, std::size_t i, Epoch epoch)
{
  const ResolvedJob& job = experiment.jobs[i];
  if (job.input.synthetic)
    return {};
  const bool warm = epoch == Epoch::later || job.input.spec.cache == PageCache::warm;
  int nodes = 0;
  for (int node = 0; node < experiment.nodes; ++node)
    nodes += tenancy_.gpus_on(i, node) > 0 ? 1 : 0;
  std::map<int, sim::ResourceId> file_threads; // of each node
  if (job.input.stored.own_file && job.input.settings.file_time.value() > 0)
    for (const auto& place : job.ranks)
      if (file_threads.count(place.node) == 0)
        file_threads[place.node] =
            engine_.add_resource({sim::ResourceKind::file_thread, place.node, job.spec.name}, 1.0);
  GpuStages stages;
  for (const auto& place : job.ranks) {
    InputShare share;
    if (const auto it = file_threads.find(place.node); it != file_threads.end())
      share.file_thread = it->second;
    share.threads = tenancy_.decode_threads(i, place.node);
    share.gpus_on_node = tenancy_.gpus_on(i, place.node);
    share.hits = cache_hits(job.input, nodes, tenancy_.page_cache(i, place.node),
                            storage_->server_cache(), warm);
    hits_.back() = share.hits;
    stages.push_back(input_stages(job, *views_[i], *storage_, place, share));
  }
  return stages;
}

} // namespace foretrain::experiments
