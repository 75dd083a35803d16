#include "experiments/fleet/fleet_setting.hpp"

#include "experiments/fleet/fleet_checks.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

std::uint32_t position(std::vector<std::string>& names, const std::string& name)
{
  const auto at =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  if (at == names.size())
    names.push_back(name);
  return static_cast<std::uint32_t>(at);
}

// Of jobs that are rejected nobody asks what they would do.
bool too_large(const LoadedFleet& fleet, int gpus)
{
  return gpus > fleet.spec.cluster.nodes * fleet.shape.gpus_per_node;
}

// Of the whole training of a job of a kind.
double samples_of(const MixSpec& mix, SpeedTable& table, std::uint32_t kind)
{
  if (mix.steps)
    return *mix.steps * table.step_samples(kind);
  const std::optional<double> samples =
      mix.tokens ? table.samples_of_tokens(kind, mix.tokens.json())
                 : std::optional(*mix.epochs * table.epoch_samples(kind));
  if (!samples)
    mix.tokens.fail("is the length of a transformer's training; give epochs or steps");
  return *samples;
}

// Gives a job its GPUs, its kind, and the time that its work takes alone.
void set_work(const LoadedFleet& fleet, const MixSpec& mix, SpeedTable& table, Job& job)
{
  job.gpus = read_as<JobSpec>(mix.job).gpus;
  if (too_large(fleet, job.gpus))
    return;
  job.kind = table.kind({mix.job, job.gpus});
  job.work = Seconds(samples_of(mix, table, job.kind) / table.reference(job.kind));
  job.first_pass = table.first_pass(job.kind);
}

// Of a recorded job, whose run time is that of it alone: its first pass over its data is in it.
void set_work_of_recorded(SpeedTable& table, Job& job)
{
  job.first_pass = table.first_pass(job.kind);
  const Seconds pass = job.first_pass.work / job.first_pass.rate;
  job.work =
      job.work > pass ? job.first_pass.work + (job.work - pass) : job.first_pass.rate * job.work;
}

Arrivals arrivals_of(const LoadedFleet& fleet, Workload& workload, SpeedTable& table)
{
  const FleetSpec& spec = fleet.spec;
  const ArrivalsSpec& asked = *spec.arrivals;
  Arrivals arrivals{asked.process,    asked.per_hour / 3600, asked.burst, asked.by_hour,
                    asked.by_weekday, asked.until,           {}};
  const std::string first = spec.queues.empty() ? "default" : spec.queues.front().name;
  for (const MixSpec& mix : asked.mix) {
    ArrivalKind kind{mix.share, {}, mix.law, mix.spread};
    kind.job.queue = position(workload.queues, mix.queue.empty() ? first : mix.queue);
    kind.job.account = position(workload.accounts, mix.account);
    kind.job.kind = kNoSpeed;
    kind.job.gpus = mix.gpus;
    kind.job.work = mix.run_time.value_or(Seconds(0));
    if (mix.job)
      set_work(fleet, mix, table, kind.job);
    kind.job.limit = mix.limit.value_or(kNever);
    kind.job.priority = mix.priority;
    arrivals.kinds.push_back(kind);
  }
  return arrivals;
}

std::vector<Quota> quotas_of(const FleetSpec& spec, const Workload& workload)
{
  std::vector<Quota> quotas(workload.queues.size());
  for (const QueueSpec& queue : spec.queues) {
    const Quota quota{queue.quota_gpus, queue.borrow};
    const auto known = std::find(workload.queues.begin(), workload.queues.end(), queue.name);
    if (known != workload.queues.end())
      quotas[static_cast<std::size_t>(known - workload.queues.begin())] = quota;
    else
      quotas.push_back(quota); // nobody uses it: others may borrow it
  }
  return quotas;
}

OutageSource outages_of_fleet(const LoadedFleet& fleet, std::uint64_t seed)
{
  if (!fleet.spec.failures)
    return {};
  const FailuresSpec& spec = *fleet.spec.failures;
  if (!spec.trace.empty())
    return outages_of(fleet.outages);
  std::vector<FailureClass> classes;
  const auto add = [&](double per_1000_days, const std::optional<RepairLaw>& repair, Hits hits,
                       int nodes_each) {
    if (per_1000_days <= 0)
      return;
    classes.push_back({Seconds(1000 * 86400 / per_1000_days), spec.law, spec.shape,
                       repair ? *repair : *spec.repair, nodes_each, hits});
    if (spec.lemons && hits != Hits::storage && nodes_each == 1) {
      classes.back().lemons = spec.lemons->nodes;
      classes.back().lemon_share = spec.lemons->failures;
    }
    if (hits == Hits::nodes && nodes_each == 1)
      classes.back().drained = spec.drained;
  };
  const int under = fleet.shape.nodes_per_switch, each = fleet.shape.gpus_per_node;
  add(spec.per_1000_node_days.value_or(0), spec.repair, Hits::nodes, 1);
  add(spec.per_1000_switch_days.value_or(0), spec.repair, Hits::nodes,
      under > 0 ? under : fleet.shape.nodes);
  if (spec.gpus && spec.gpus->takes == GpuTakes::node) // the node has the failures of its GPUs
    add(each * spec.gpus->per_1000_days, spec.gpus->repair, Hits::nodes, 1);
  else if (spec.gpus)
    add(spec.gpus->per_1000_days, spec.gpus->repair, Hits::gpu, 1);
  if (spec.storage)
    add(spec.storage->per_1000_days, spec.storage->repair, Hits::storage, 1);
  return draw_outages(classes, fleet.shape, seed);
}

// Where names stand among those that jobs have.
std::vector<std::uint32_t> positions(const std::vector<std::string>& names,
                                     const std::vector<std::string>& known, const Value& at,
                                     const char* key)
{
  std::vector<std::uint32_t> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto entry = std::find(known.begin(), known.end(), names[i]);
    if (entry == known.end())
      at.at(key).at(i).fail(fmt::format("is none of the {} that jobs have", key),
                            suggestion(names[i], known, key));
    found.push_back(static_cast<std::uint32_t>(entry - known.begin()));
  }
  return found;
}

std::vector<Window> windows_of(const LoadedFleet& fleet, const Workload& workload)
{
  std::vector<Window> windows;
  const auto add = [&](const MaintenanceSpec& it, const std::vector<std::uint32_t>& accounts,
                       const std::vector<std::uint32_t>& queues) {
    for (int time = 0; time < it.times; ++time) {
      const Seconds from = it.from + time * it.every.value_or(Seconds(0));
      windows.push_back({from, from + it.length, it.first_node,
                         it.nodes.value_or(fleet.spec.cluster.nodes - it.first_node), accounts,
                         queues});
    }
  };
  for (const MaintenanceSpec& it : fleet.spec.maintenance)
    add(it, {}, {});
  for (std::size_t i = 0; i < fleet.spec.reservations.size(); ++i) {
    const ReservationSpec& it = fleet.spec.reservations[i];
    const Value at = Value(fleet.document).at("reservations").at(i);
    add(it, positions(it.accounts, workload.accounts, at, "accounts"),
        positions(it.queues, workload.queues, at, "queues"));
  }
  std::stable_sort(windows.begin(), windows.end(),
                   [](const Window& a, const Window& b) { return a.from < b.from; });
  return windows;
}

// Of all GPUs of a job together: as the file says, else as its model and framework make it.
Bytes checkpoint_bytes(const LoadedFleet& fleet, const SpeedTable& table, const Job& job)
{
  if (fleet.spec.checkpoint->bytes_per_gpu)
    return job.gpus * *fleet.spec.checkpoint->bytes_per_gpu;
  const std::optional<Bytes> bytes = table.checkpoint_bytes(job.kind);
  if (!bytes)
    Value(fleet.document)
        .at("checkpoint")
        .fail_at("bytes_per_gpu", fmt::format("is missing: job {} has no model that tells how "
                                              "much a checkpoint has",
                                              job.id));
  return *bytes;
}

// What a job's checkpoints cost, and how far apart they are.
Checkpointing checkpointing_of(const LoadedFleet& fleet, SpeedTable& table, const Job& job)
{
  const CheckpointSpec& spec = *fleet.spec.checkpoint;
  Checkpointing made;
  made.asynchronous = spec.asynchronous;
  made.felt = !spec.write && !spec.rate;
  made.in_memory = spec.to == CheckpointPlace::neighbour;
  made.read = spec.read.value_or(Seconds(0));
  if (spec.write) {
    made.write = *spec.write;
  } else if (spec.rate) {
    const Bytes bytes = checkpoint_bytes(fleet, table, job);
    made.write = bytes / *spec.rate;
    if (spec.read_rate)
      made.read = bytes / *spec.read_rate;
  } else if (job.kind != kNoSpeed) {
    const Bytes bytes = checkpoint_bytes(fleet, table, job);
    made.write = table.transfer_time(
        job.kind, bytes, made.asynchronous ? Transfer::write_beside : Transfer::write_alone);
    made.read = table.transfer_time(job.kind, bytes, Transfer::read);
  } else {
    Value(fleet.document)
        .at("checkpoint")
        .fail(fmt::format("must have write, or rate: job {} has no model, and its writes cannot be "
                          "simulated",
                          job.id));
  }
  if (!interval_by_failures(spec)) {
    Reader::read(spec.interval, made.interval, any());
    return made;
  }
  const int nodes = job.nodes > 0
                        ? job.nodes
                        : (job.gpus + fleet.shape.gpus_per_node - 1) / fleet.shape.gpus_per_node;
  const FailuresSpec& failures = *fleet.spec.failures;
  double per_day = failures.per_1000_node_days.value_or(0) / 1000 * nodes;
  if (failures.gpus && failures.gpus->takes == GpuTakes::node)
    per_day += failures.gpus->per_1000_days / 1000 * nodes * fleet.shape.gpus_per_node;
  per_day *= 1 - failures.drained;
  if (failures.gpus && failures.gpus->takes == GpuTakes::gpu)
    per_day += failures.gpus->per_1000_days / 1000 * job.gpus;
  const int under = fleet.shape.nodes_per_switch;
  const int switches = under > 0 ? (nodes + under - 1) / under : 1; // packed
  per_day += failures.per_1000_switch_days.value_or(0) / 1000 * switches;
  if (per_day > 0) // a write that costs nothing is best done always
    made.interval =
        std::max(kShortestInterval,
                 fleet.interval_scale * daly_interval(made.write, Seconds(86400 / per_day)));
  return made;
}

void set_checkpoints(const LoadedFleet& fleet, SpeedTable& table, Workload& workload,
                     FleetSetting& setting)
{
  if (!fleet.spec.checkpoint)
    return;
  setting.restart = fleet.spec.checkpoint->restart;
  setting.checkpointing.clear();
  std::map<std::tuple<int, int, std::uint32_t>, std::uint32_t> known; // by GPUs, nodes and kind
  for (Job& job : workload.jobs) {
    if (too_large(fleet, job.gpus))
      continue;
    const auto [entry, is_new] =
        known.emplace(std::tuple(job.gpus, job.nodes, job.kind),
                      static_cast<std::uint32_t>(setting.checkpointing.size()));
    if (is_new)
      setting.checkpointing.push_back(checkpointing_of(fleet, table, job));
    job.checkpointing = entry->second;
  }
}

// Of the networks, the least that is below one switch; 0 where all have one for all nodes.
int least_below_leaf(const platforms::PlatformSpec& platform, int nodes)
{
  int least = 0;
  for (std::size_t n = 0; n < platform.networks.size(); ++n)
    if (const int below = platforms::nodes_per_leaf(platform, n, nodes); below > 0)
      least = least > 0 ? std::min(least, below) : below;
  return least;
}

CheckpointPlace checkpoint_place(const FleetSpec& spec)
{
  return spec.checkpoint ? spec.checkpoint->to : CheckpointPlace::storage;
}

} // namespace

SpeedCluster speed_cluster(const LoadedFleet& fleet)
{
  const Json& root = fleet.document->root;
  Json cluster = Json::object();
  for (const char* key : {"platform", "storage"})
    if (root.at("cluster").contains(key))
      cluster[key] = root.at("cluster").at(key);
  SpeedCluster made;
  made.document = fleet.document;
  made.cluster = cluster;
  made.stack = root.value("stack", Json());
  made.shape = fleet.shape;
  const FleetClusterSpec& spec = fleet.spec.cluster;
  if (spec.platform)
    made.nodes_per_leaf =
        least_below_leaf(platforms::load_platform(spec.platform), fleet.shape.nodes);
  const Value disk = preset_reference("local-disk", Value(fleet.document));
  const CheckpointPlace place = checkpoint_place(fleet.spec);
  made.checkpoints.in_memory = place == CheckpointPlace::neighbour;
  if (!made.checkpoints.in_memory)
    made.checkpoints.storage =
        spec.storage && place == CheckpointPlace::storage ? spec.storage : disk;
  made.file_servers = spec.storage && !platforms::load_storage(spec.storage).local();
  made.checkpoint_servers =
      made.checkpoints.storage && !platforms::load_storage(made.checkpoints.storage).local();
  return made;
}

Workload workload_of(const LoadedFleet& fleet, std::uint64_t seed, bool ties, SpeedTable& table)
{
  Workload workload;
  if (fleet.spec.arrivals) {
    workload.queues.clear();
    workload.accounts.clear();
    const Arrivals arrivals = arrivals_of(fleet, workload, table);
    workload.jobs = draw_jobs(arrivals, seed);
  } else {
    workload = fleet.trace->workload;
    if (fleet.spec.jobs->take == TakeJobs::unfinished)
      draw_run_times(workload, *fleet.trace, seed);
    else if (ties)
      shuffle_ties(workload.jobs, seed);
    if (fleet.spec.jobs->job)
      for (Job& job : workload.jobs) {
        if (too_large(fleet, job.gpus))
          continue;
        job.kind = table.kind({fleet.spec.jobs->job, job.gpus});
        set_work_of_recorded(table, job);
      }
  }
  for (const QueueSpec& queue : fleet.spec.queues)
    if (queue.max_time)
      for (Job& job : workload.jobs)
        if (workload.queues[job.queue] == queue.name)
          job.limit = std::min(job.limit, *queue.max_time);
  return workload;
}

FleetSetting setting_of(const LoadedFleet& fleet, std::uint64_t seed, SpeedTable& table,
                        Workload& workload)
{
  FleetSetting setting;
  setting.shape = fleet.shape;
  setting.policy = fleet.policy;
  setting.quotas = quotas_of(fleet.spec, workload);
  setting.windows = windows_of(fleet, workload);
  if (fleet.policy.backfill == Backfilling::recorded)
    setting.decide = follow_leases(leases_of(fleet.leases, fleet.trace->workload, workload));
  if (fleet.spec.failures) {
    setting.spares = fleet.spec.failures->spares;
    setting.spare_start = fleet.spec.failures->spare_start;
    setting.keep_place = fleet.spec.failures->keep_place;
    setting.detect = fleet.spec.failures->detect;
    setting.outages = outages_of_fleet(fleet, seed);
  }
  set_checkpoints(fleet, table, workload, setting);
  return setting;
}

} // namespace foretrain::experiments
