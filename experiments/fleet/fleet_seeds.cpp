// Simulates a fleet, once for each seed.
#include "experiments/fleet/fleet.hpp"

#include "experiments/fleet/best_interval.hpp"
#include "experiments/fleet/fleet_checks.hpp"
#include "experiments/fleet/fleet_setting.hpp"
#include "experiments/fleet/policy_command.hpp"
#include "experiments/fleet/seed_workers.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

class Seeds final : public SeedWork {
public:
  Seeds(const LoadedFleet& fleet, const FleetOptions& options, SpeedTable& table,
        PolicyCommand* decider)
      : fleet_(fleet), options_(options), table_(table), decider_(decider)
  {
    if (options.kept != nullptr && decider == nullptr)
      name_ = fingerprint(fleet, options.seeds > 1);
  }

  FleetRun prepare(int index) const override
  {
    FleetRun run;
    run.seed = options_.seed + static_cast<std::uint64_t>(index);
    run.workload = workload_of(fleet_, run.seed, options_.seeds > 1, table_);
    return run;
  }

  void simulate(FleetRun& run, int index) const override
  {
    FleetSetting setting = setting_of(fleet_, run.seed, table_, run.workload);
    if (simulates(fleet_.spec))
      setting.speeds = table_.speeds(run.workload);
    setting.history = options_.history && index == 0;
    if (decider_ != nullptr)
      setting.decide = [&](const Scheduler& scheduler) {
        return decider_->decide(scheduler, run.workload, run.seed);
      };
    if (options_.progress)
      setting.go_on = [&](std::size_t ended) {
        return options_.progress(index, ended, run.workload.jobs.size());
      };
    run.result = models::fleet::simulate(run.workload, setting);
  }

  std::string name(int index) const override
  {
    if (name_.empty())
      return {};
    const char* const history = options_.history && index == 0 ? "-history" : "";
    return fmt::format("{}-{}{}", name_, options_.seed + static_cast<std::uint64_t>(index),
                       history);
  }

private:
  const LoadedFleet& fleet_;
  const FleetOptions& options_;
  SpeedTable& table_;
  PolicyCommand* decider_;
  std::string name_; // of what all seeds depend on
};

// The seeds that come after the first, in processes.
void run_others(const LoadedFleet& fleet, const FleetOptions& options, SpeedTable& table,
                const std::vector<int>& others, std::vector<FleetRun>& runs)
{
  FleetOptions quiet = options;
  quiet.progress = {};
  const Seeds seeds(fleet, quiet, table, nullptr);
  const auto progress = [&](int ended) {
    if (options.progress)
      options.progress(1 + ended, 0, 1);
  };
  for (FleetRun& run : SeedRunner{seeds, table, options.kept}.run(others, options.jobs, progress))
    runs.push_back(std::move(run));
  if (runs.size() == 1) // Ctrl-C before any of them had ended
    runs.back().result.stopped = true;
}

std::vector<int> indices_of(const FleetOptions& options)
{
  std::vector<int> indices;
  for (int i = 0; i < options.seeds; ++i)
    if (options.part.has(static_cast<std::size_t>(i)))
      indices.push_back(i);
  return indices;
}

// Nobody waits where nobody comes: that is no answer.
void check_jobs(const LoadedFleet& fleet, const std::vector<FleetRun>& runs)
{
  if (!fleet.spec.arrivals || runs.empty() ||
      !std::all_of(runs.begin(), runs.end(),
                   [](const FleetRun& run) { return run.workload.jobs.empty(); }))
    return;
  const ArrivalsSpec& spec = *fleet.spec.arrivals;
  Value(fleet.document)
      .at("arrivals")
      .fail(fmt::format("bring no job: {:g} an hour, until {:g} h", spec.per_hour,
                        spec.until.value() / 3600),
            "raise per_hour or until");
}

// Without the moment after those that run had got their GPUs, at which the queue is looked at.
void hide_look(FleetRun& run)
{
  constexpr double kPerSecond = 0.1 / kLook.value();
  const auto hide = [](Seconds& time) {
    if (time < models::fleet::kNever)
      time = Seconds(std::round(time.value() * kPerSecond) / kPerSecond);
  };
  for (models::fleet::Job& job : run.workload.jobs)
    hide(job.submit);
  for (models::fleet::JobOutcome& outcome : run.result.jobs)
    for (Seconds* time : {&outcome.start, &outcome.end, &outcome.run})
      hide(*time);
}

std::vector<FleetRun> run_all_seeds(const LoadedFleet& fleet, const FleetOptions& options,
                                    SpeedTables& tables)
{
  SpeedTable& table = tables.of(fleet);
  std::optional<PolicyCommand> decider;
  if (!options.policy_command.empty())
    decider.emplace(options.policy_command);
  const Seeds seeds(fleet, options, table, decider ? &*decider : nullptr);
  const std::vector<int> indices = indices_of(options);
  std::vector<FleetRun> runs;
  for (const int i : indices) {
    if (runs.size() == 1 && options.jobs > 1 && !decider) { // they know what the first has learnt
      run_others(fleet, options, table, {indices.begin() + 1, indices.end()}, runs);
      break;
    }
    runs.push_back(SeedRunner{seeds, table, options.kept}.run(i));
    if (runs.back().result.stopped)
      break;
  }
  for (FleetRun& run : runs) {
    run.situations = static_cast<int>(table.situations());
    run.interval_scale = fleet.interval_scale;
    run.misfits = table.misfits();
    if (fleet.spec.jobs && fleet.spec.jobs->take == TakeJobs::unfinished)
      hide_look(run);
  }
  return runs;
}

} // namespace

SpeedTable& SpeedTables::of(const LoadedFleet& fleet)
{
  SpeedCluster cluster = speed_cluster(fleet);
  const std::string key =
      fmt::format("{} {} {} {} {}", cluster.cluster.dump(), cluster.stack.dump(),
                  cluster.checkpoints.in_memory ? "memory" : cluster.checkpoints.storage.shown(),
                  fleet.shape.gpus_per_node, cluster.nodes_per_leaf);
  SpeedTable& table = tables_.try_emplace(key, std::move(cluster)).first->second;
  table.set_nodes(fleet.shape.nodes);
  return table;
}

FleetOptions options_of(const FleetSpec& spec)
{
  FleetOptions options;
  options.seed = static_cast<std::uint64_t>(spec.seed.value_or(1));
  options.seeds = spec.seeds;
  return options;
}

std::vector<FleetRun> run_fleet(const LoadedFleet& fleet, const FleetOptions& options)
{
  SpeedTables tables;
  return run_fleet(fleet, options, tables);
}

std::vector<FleetRun> run_fleet(const LoadedFleet& fleet, const FleetOptions& options,
                                SpeedTables& tables)
{
  const auto run = [&](const LoadedFleet& tried) {
    std::vector<FleetRun> runs = run_all_seeds(tried, options, tables);
    check_jobs(tried, runs);
    return runs;
  };
  if (!interval_by_simulation(fleet.spec))
    return run(fleet);
  LoadedFleet best = fleet;
  best.interval_scale = best_interval_scale(fleet, run);
  return run(best);
}

} // namespace foretrain::experiments
