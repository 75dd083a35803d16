#include "experiments/run/simulate/stage.hpp"

#include "experiments/run/simulate/resources_used.hpp"
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
  add_jobs(experiment, options, epoch);
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
         ((experiment.storage && !experiment.storage->local()) || near_others(experiment, i));
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
    const bool even = job.framework.fusion_cycle.value() <= 0 && job.input.synthetic && !meets_[i];
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

void Stage::add_jobs(const ResolvedExperiment& experiment, const RunOptions& options, Epoch epoch)
{
  pipelines_.resize(experiment.jobs.size());
  hits_.resize(experiment.jobs.size());
  std::vector<Draft> drafts;
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i)
    drafts.push_back(draft(experiment, i, options, epoch,
                           near_others(experiment, i) ? PlanFor::simulation : PlanFor::evaluation));
  find_meetings(experiment, drafts);
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    if (experiment.jobs[i].transformer && near_others(experiment, i) && !meets_[i]) // as alone
      drafts[i] = draft(experiment, i, options, epoch, PlanFor::evaluation);
    add_job(experiment, i, options, std::move(drafts[i]));
  }
}

Stage::Draft Stage::draft(const ResolvedExperiment& experiment, std::size_t i,
                          const RunOptions& options, Epoch epoch, PlanFor use)
{
  const ResolvedJob& job = experiment.jobs[i];
  JobParts parts;
  std::shared_ptr<const models::WorkPlan> plan = job.plan;
  if (job.transformer) {
    models::DividedPlan written = write_plan(experiment, i, options.fidelity, use);
    plan = std::make_shared<const models::WorkPlan>(std::move(written.work));
    pipelines_[i] = std::move(written.pipeline);
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
  auto machine = std::make_unique<PlanMachine>(engine_, *views_[i], job, *plan, options.fidelity,
                                               std::move(parts));
  return {std::move(plan), std::move(machine)};
}

// Transfers are taken to use all of the nodes that they read from or write to.
void Stage::find_meetings(const ResolvedExperiment& experiment, std::vector<Draft>& drafts)
{
  meets_.assign(drafts.size(), false);
  foreign_.resize(drafts.size());
  std::vector<std::set<int>> used(drafts.size());
  for (std::size_t i = 0; i < drafts.size(); ++i)
    if (near_others(experiment, i))
      used[i] = drafts[i].machine->uses();
  std::set<int> nodes;
  for (const CheckpointTransfer& it : experiment.transfers)
    for (const auto& place : checkpoint_movers(it.job))
      nodes.insert(place.node);
  std::set<int> moved;
  for (int r = 0; r < engine_.resource_count(); ++r)
    if (nodes.contains(engine_.resource({r}).node))
      moved.insert(r);
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    std::set<int> shared;
    for (std::size_t other = 0; other < drafts.size(); ++other)
      if (other != i)
        for (const int resource : used[other])
          (used[i].contains(resource) ? shared : foreign_[i]).insert(resource);
    for (const int resource : used[i])
      if (moved.contains(resource))
        shared.insert(resource);
    meets_[i] = !shared.empty();
    drafts[i].machine->meet(shared);
  }
}

void Stage::add_job(const ResolvedExperiment& experiment, std::size_t i, const RunOptions& options,
                    Draft draft)
{
  const ResolvedJob& job = experiment.jobs[i];
  models::JobSchedule schedule = schedule_of(experiment, i, options);
  schedule.samples_per_step = draft.plan->samples_per_step;
  models::ProgramSetup setup;
  setup.stream = fmt::format("job{}", job.chance);
  setup.speed_variation = experiment.platform.gpu.speed_variation;
  setup.in_step = job.spec.mode != JobMode::inference;
  setup.keep_limits = options.keep_limits || experiment.jobs.size() > 1;
  jobs_.push_back(std::make_unique<models::ProgramJob>(
      engine_, std::move(schedule), std::move(draft.plan), std::move(draft.machine), setup));
}

bool Stage::near_others(const ResolvedExperiment& experiment, std::size_t i) const
{
  std::vector<std::set<int>> nodes(experiment.jobs.size());
  for (std::size_t job = 0; job < nodes.size(); ++job) {
    const ResolvedJob& of = experiment.jobs[job];
    nodes[job].insert(of.server_nodes.begin(), of.server_nodes.end());
    for (const auto& place : of.ranks)
      nodes[job].insert(place.node);
  }
  for (std::size_t other = 0; other < nodes.size(); ++other) {
    if (other == i)
      continue;
    const bool uses_network = nodes[other].size() > 1 || !experiment.jobs[other].input.synthetic;
    if (machine_.shares_uplinks() && nodes[i].size() > 1 && uses_network)
      return true;
    if (have_common(nodes[i], nodes[other]))
      return true;
  }
  return std::any_of(experiment.transfers.begin(), experiment.transfers.end(), [&](const auto& it) {
    const auto movers = checkpoint_movers(it.job);
    return std::any_of(movers.begin(), movers.end(),
                       [&](const auto& place) { return nodes[i].contains(place.node); });
  });
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
    hits_[i] = share.hits;
    stages.push_back(input_stages(job, *views_[i], *storage_, place, share));
  }
  return stages;
}

} // namespace foretrain::experiments
