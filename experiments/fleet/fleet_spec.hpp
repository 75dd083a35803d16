// A fleet file: a cluster, its queues and policy, and jobs that come over time.
#pragma once

#include "experiments/fleet/job_trace.hpp"
#include "experiments/spec/experiment.hpp"
#include "models/fleet/arrivals.hpp"
#include "models/fleet/outages.hpp"
#include "models/fleet/policy.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::models::fleet {

template <class V>
void describe(V& v, Policy& s)
{
  v.format("foretrain.policy/1");
  v.optional("name", s.name, "of the policy");
  v.optional(
      "order", s.order,
      "who goes first: fifo by arrival, sjf the shortest by limit, srtf the shortest by what "
      "remains, las who had the least GPU time, priority, fair-share the account that used "
      "the least");
  v.optional("backfill", s.backfill,
             "who may pass a job that does not fit: none, easy who delays not the first one, "
             "conservative who delays nobody; recorded: jobs run when and where /jobs/leases says");
  v.optional("depth", s.depth,
             "of conservative backfilling: how many waiting jobs, from the first, it looks at; "
             "those behind wait for that (Slurm's bf_max_job_test)",
             at_least(1));
  v.optional("preemption", s.preemption,
             "none; priority: who goes first in the order takes the GPUs of the last; quantum: the "
             "first in the order run, chosen again after each quantum");
  v.optional("gang", s.gang,
             "all GPUs of a job at once; false: node by node, as Kubernetes places pods");
  v.optional("placement", s.placement,
             "first-fit: the lowest free GPUs; best-fit: few nodes, those that leave least unused; "
             "consolidate: as few nodes as can be, or wait; spread: many nodes");
  v.optional("quantum", s.quantum, "of preemption by quantum", positive());
  v.optional("half_life", s.half_life, "after which fair-share counts use half", positive());
}
inline void check_fields(const Value& at, const Policy& policy)
{
  if (at.json().contains("depth") && policy.backfill != Backfilling::conservative)
    at.at("depth").fail("is only of conservative backfilling");
  if (at.json().contains("quantum") && policy.preemption != Preemption::quantum)
    at.at("quantum").fail("is only of preemption by quantum");
  const bool passes =
      policy.backfill == Backfilling::easy || policy.backfill == Backfilling::conservative;
  if (!policy.gang && passes)
    at.at("backfill")
        .fail("is of policies that start whole jobs (gang): node by node all who wait "
              "are looked at, and none is left out for an earlier one");
  if (at.json().contains("half_life") && policy.order != Order::fair_share)
    at.at("half_life").fail("is only of the order fair-share");
}

template <class V>
void describe(V& v, RepairLaw& s)
{
  v.required("median", s.median, "half of the repairs take less", positive());
  v.required("mean", s.mean, "of all repairs, at least the median", positive());
}

} // namespace foretrain::models::fleet

namespace foretrain::experiments {

inline const PresetKind kFleetKind{"fleet", "experiments/fleets"};
inline const PresetKind kPolicyKind{"policy", "experiments/policies"};

/// What the cluster draws, in watts.
struct PowerSpec {
  double gpu_busy = 0, gpu_idle = 0; // of a GPU
  double node = 0;                   // of a node without its GPUs
};

struct FleetClusterSpec {
  Value platform; // absent: only how many GPUs a node has is known
  int nodes = 1;
  std::optional<int> gpus_per_node;
  std::optional<int> nodes_per_switch;
  Value storage;
  Value price_per_gpu_hour; // as in experiments
  std::string currency;
  std::optional<PowerSpec> power;
};

struct QueueSpec {
  std::string name;
  std::optional<int> quota_gpus;
  bool borrow = true;
  std::optional<Seconds> max_time;
};

/// Where run times come from.
enum class SpeedSource { recorded, simulated };
constexpr auto choices(SpeedSource)
{
  return std::to_array<Choice<SpeedSource>>(
      {{SpeedSource::recorded, "recorded"}, {SpeedSource::simulated, "simulated"}});
}

struct FleetJobsSpec {
  std::string trace;
  TraceKind kind = TraceKind::sacct;
  TakeJobs take = TakeJobs::ended;
  SpeedSource speed = SpeedSource::recorded;
  Value job; // what jobs are taken to do, where speeds are simulated
  std::string leases;
};

struct MixSpec {
  std::string name;
  double share = 1;
  std::string queue, account;
  double priority = 0;
  std::optional<Seconds> limit;
  Value job; // as in an experiment
  std::optional<double> epochs;
  std::optional<double> steps;
  Value tokens; // a number, or a text like "1T"
  int gpus = 0; // of jobs of which only the run time is known
  std::optional<Seconds> run_time;
  models::fleet::RunTimeLaw law = models::fleet::RunTimeLaw::fixed;
  double spread = 1;
};

struct ArrivalsSpec {
  models::fleet::ArrivalProcess process = models::fleet::ArrivalProcess::poisson;
  double per_hour = 1;
  double burst = 1;
  std::vector<double> by_hour, by_weekday;
  std::vector<MixSpec> mix;
  Seconds until{};
};

enum class GpuTakes { node, gpu };
constexpr auto choices(GpuTakes)
{
  return std::to_array<Choice<GpuTakes>>({{GpuTakes::node, "node"}, {GpuTakes::gpu, "gpu"}});
}

/// Failures of the storage that all jobs share.
struct FailingSpec {
  double per_1000_days = 0; // of 1,000 of them
  std::optional<models::fleet::RepairLaw> repair;
};

/// Failures of single GPUs.
struct FailingGpuSpec : FailingSpec {
  GpuTakes takes = GpuTakes::node;
};

struct LemonSpec {
  double nodes = 0.1;
  double failures = 0.4;
};

/// Of 1,000 nodes in a day: each node fails once a minute and a half.
inline constexpr double kMostFailures = 1e6;

struct FailuresSpec {
  std::string trace;
  std::optional<double> per_1000_node_days;
  std::optional<double> per_1000_switch_days;
  std::optional<FailingGpuSpec> gpus;
  std::optional<FailingSpec> storage;
  models::fleet::FailureLaw law = models::fleet::FailureLaw::exponential;
  double shape = 1;
  std::optional<models::fleet::RepairLaw> repair;
  std::optional<LemonSpec> lemons;
  double drained = 0;
  Seconds detect{};
  int spares = 0;
  Seconds spare_start{};
  bool keep_place = false;
};

struct MaintenanceSpec {
  Seconds from{}, length{};
  int times = 1;
  std::optional<Seconds> every;
  int first_node = 0;
  std::optional<int> nodes;
};

struct ReservationSpec : MaintenanceSpec {
  std::vector<std::string> accounts, queues;
};

/// Where a checkpoint is written to, whose time is simulated.
enum class CheckpointPlace { storage, disk, neighbour };
constexpr auto choices(CheckpointPlace)
{
  return std::to_array<Choice<CheckpointPlace>>({{CheckpointPlace::storage, "storage"},
                                                 {CheckpointPlace::disk, "disk"},
                                                 {CheckpointPlace::neighbour, "neighbour"}});
}

struct CheckpointSpec {
  Value interval; // a time, or how the best one is found
  std::optional<Seconds> write;
  std::optional<Bytes> bytes_per_gpu;
  std::optional<BytesPerSecond> rate;
  std::optional<Seconds> read;
  std::optional<BytesPerSecond> read_rate;
  CheckpointPlace to = CheckpointPlace::storage;
  bool asynchronous = false;
  Seconds restart{};
};

struct FleetExpectationSpec {
  std::string quantity;
  Value point; // object: pointer -> value; absent: every point
  Value than;  // object: pointer -> value of the point to compare with
  std::optional<double> at_least, at_most;
};

struct FleetSpec {
  std::string name = "fleet";
  std::string description;
  FleetClusterSpec cluster;
  Value stack;
  std::vector<QueueSpec> queues;
  Value policy;
  std::optional<FleetJobsSpec> jobs;
  std::optional<ArrivalsSpec> arrivals;
  std::optional<FailuresSpec> failures;
  std::vector<MaintenanceSpec> maintenance;
  std::vector<ReservationSpec> reservations;
  std::optional<CheckpointSpec> checkpoint;
  int seeds = 1;
  std::optional<int> seed;
  Value sweep; // object: pointer -> list; taken out of the points
  std::vector<FleetExpectationSpec> expect;
};

template <class V>
void describe(V& v, PowerSpec& s)
{
  v.required("gpu_busy", s.gpu_busy, "watts of a GPU while it works", non_negative());
  v.optional("gpu_idle", s.gpu_idle, "watts of a GPU that does not, in a node that is up",
             non_negative());
  v.optional("node", s.node, "watts of a node that is up, without its GPUs", non_negative());
}

template <class V>
void describe(V& v, FleetClusterSpec& s)
{
  v.optional("platform", s.platform, "the machine; needed where speeds are simulated",
             preset("platform"));
  v.required("nodes", s.nodes, "how many nodes, without spares", between(1, 100000));
  v.optional("gpus_per_node", s.gpus_per_node, "where there is no platform to tell it",
             between(1, models::fleet::kMostGpusPerNode));
  v.optional("nodes_per_switch", s.nodes_per_switch,
             "under one switch, for consolidate and for failures of switches; default all",
             at_least(1));
  v.optional("storage", s.storage, "where training data lies; default the first disk of each node",
             preset("storage"));
  v.optional("price_per_gpu_hour", s.price_per_gpu_hour,
             "what a GPU costs for an hour, used or not: a number, or an object of platform and "
             "number");
  v.optional("currency", s.currency, "of it, for people");
  v.optional("power", s.power, "what is drawn, for the energy of the answer");
}

template <class V>
void describe(V& v, QueueSpec& s)
{
  v.required("name", s.name, "of the queue, as jobs name it");
  v.optional("quota_gpus", s.quota_gpus, "GPUs that its jobs may hold; default no limit",
             non_negative());
  v.optional("borrow", s.borrow, "it may use what other queues leave of their quotas");
  v.optional("max_time", s.max_time, "after which its jobs are killed, whatever they ask",
             positive());
}

template <class V>
void describe(V& v, FleetJobsSpec& s)
{
  v.required("trace", s.trace, "file of recorded jobs, gzipped or not, relative to this one");
  v.required("kind", s.kind, "who wrote it");
  v.optional(
      "take", s.take,
      "ended: jobs that have ended are replayed; unfinished (of sacct): those that run and "
      "wait go on from the end of the trace, and take as much of their limits as ended ones");
  v.optional("speed", s.speed,
             "recorded: run times are the trace's; simulated: they hold alone and packed, and jobs "
             "slow each other down as simulated");
  v.optional("job", s.job,
             "what each job does, as in an experiment but for its GPUs: for simulated speeds");
  v.optional(
      "leases", s.leases,
      "CSV with columns job, start_s, end_s and nodes (like 0 1), relative to this file: who "
      "held what, for the policy recorded");
}

template <class V>
void describe(V& v, MixSpec& s)
{
  v.optional("name", s.name, "for reports");
  v.optional("share", s.share, "of all arrivals, in any unit", positive());
  v.optional("queue", s.queue, "that it is submitted to; default the first");
  v.optional("account", s.account, "that it is charged to");
  v.optional("priority", s.priority, "higher goes first, where the policy looks at it");
  v.optional("limit", s.limit, "wall time after which it is killed", positive());
  v.optional("job", s.job, "a job as in an experiment: its speed is simulated");
  v.optional("epochs", s.epochs, "of such a job, over its data set", positive());
  v.optional("steps", s.steps, "of such a job, instead of epochs", positive());
  v.optional("tokens", s.tokens,
             "of such a job of a transformer, instead of these: a number or a text like \"10B\"");
  v.optional("gpus", s.gpus, "of a job of which only the run time is known", non_negative());
  v.optional("run_time", s.run_time, "of such a job, or the mean of its law", positive());
  v.optional("law", s.law, "of the run times");
  v.optional("spread", s.spread, "coefficient of variation of the log-normal law", positive());
}

template <class V>
void describe(V& v, ArrivalsSpec& s)
{
  v.optional("process", s.process, "poisson: each by itself; even: at equal distances");
  v.required("per_hour", s.per_hour, "jobs that come in an hour, on average", positive());
  v.optional("burst", s.burst, "mean number of jobs that come at once (geometric)", at_least(1));
  v.optional("by_hour", s.by_hour, "24 relative rates from midnight on, of any mean",
             non_negative());
  v.optional("by_weekday", s.by_weekday, "7 relative rates from Monday on; time 0 is a Monday",
             non_negative());
  v.required("mix", s.mix, "what comes");
  v.required("until", s.until, "when no more jobs come", positive());
}

template <class V>
void describe(V& v, LemonSpec& s)
{
  v.optional("nodes", s.nodes, "share of the nodes, by number from the first", between(0, 1));
  v.optional("failures", s.failures, "share of the failures that they have", between(0, 1));
}

template <class V>
void describe(V& v, FailingSpec& s)
{
  v.required("per_1000_days", s.per_1000_days, "failures of 1,000 of them in a day",
             non_negative());
  v.optional("repair", s.repair, "how long these repairs take; default that of all failures");
}

template <class V>
void describe(V& v, FailingGpuSpec& s)
{
  describe(v, static_cast<FailingSpec&>(s));
  v.optional("takes", s.takes, "node: the whole node goes down with it; gpu: the others go on");
}

template <class V>
void describe(V& v, FailuresSpec& s)
{
  v.optional("trace", s.trace, "CSV with columns node, start_day, end_day, relative to this file");
  v.optional("per_1000_node_days", s.per_1000_node_days, "failures of 1,000 nodes in a day",
             between(0, kMostFailures));
  v.optional("per_1000_switch_days", s.per_1000_switch_days,
             "failures of 1,000 switches in a day: all nodes below one go down",
             between(0, kMostFailures));
  v.optional("gpus", s.gpus, "failures of single GPUs");
  v.optional("storage", s.storage,
             "failures of the storage that all jobs share: jobs hang until it is back, and lose "
             "nothing");
  v.optional("law", s.law, "of the time between the failures of one node");
  v.optional("shape", s.shape, "of Weibull's law; below 1: failures come in clusters",
             between(0.1, 10));
  v.optional("repair", s.repair, "how long repairs take: log-normal by median and mean");
  v.optional("lemons", s.lemons, "nodes that fail more often than others");
  v.optional("drained", s.drained,
             "share of the failures of nodes, and of GPUs that take their node, which checks find "
             "before a job fails: nothing starts on the node, and it is repaired when its jobs "
             "have ended",
             between(0, 1));
  v.optional("detect", s.detect, "from a failure until the job gives up its GPUs", non_negative());
  v.optional("spares", s.spares, "further nodes that take the place of those that are down",
             non_negative());
  v.optional("spare_start", s.spare_start,
             "until a spare that is called is in service: cold spares; default at once",
             non_negative());
  v.optional("keep_place", s.keep_place,
             "a job that failed keeps its other nodes and waits, before all others, for one in "
             "place of that which is down; else it gives all back and queues again");
}

template <class V>
void describe(V& v, MaintenanceSpec& s)
{
  v.required("from", s.from,
             "when it begins: after the first submission of a trace, of drawn jobs "
             "after midnight of the first Monday",
             non_negative());
  v.required("length", s.length, "until it is over", positive());
  v.optional("times", s.times, "how often", between(1, 10000));
  v.optional("every", s.every, "from one beginning to the next", positive());
  v.optional("first_node", s.first_node, "of those that it takes, from 0", non_negative());
  v.optional("nodes", s.nodes, "how many it takes; default all from the first", at_least(1));
}

template <class V>
void describe(V& v, ReservationSpec& s)
{
  describe(v, static_cast<MaintenanceSpec&>(s));
  v.optional("accounts", s.accounts, "whose jobs may have these nodes then");
  v.optional("queues", s.queues, "whose jobs may have these nodes then");
}

template <class V>
void describe(V& v, CheckpointSpec& s)
{
  v.required("interval", s.interval,
             "of work between two writes: a time, best (Daly's), or simulated (the best of "
             "nine from a quarter to four times that)");
  v.optional("write", s.write,
             "how long a write takes; default simulated, with who meets it, as is a rate",
             non_negative());
  v.optional("bytes_per_gpu", s.bytes_per_gpu,
             "that a write has, where its time is not given; default what the job trains, with the "
             "optimizer's state, over its GPUs",
             positive());
  v.optional("rate", s.rate, "at which all GPUs of a job write together", positive());
  v.optional(
      "read", s.read,
      "how long a job that goes on reads its last checkpoint; default simulated where writes "
      "are, else no time beyond restart",
      non_negative());
  v.optional("read_rate", s.read_rate, "at which all its GPUs read it together, beside rate",
             positive());
  v.optional(
      "to", s.to,
      "the cluster's storage, the first disk of each node, or neighbour: each part into memory "
      "of its node and of the job's next one, which is lost with both");
  v.optional("asynchronous", s.asynchronous, "work goes on during a write");
  v.optional("restart", s.restart, "from having GPUs again until work goes on", non_negative());
}

template <class V>
void describe(V& v, FleetExpectationSpec& s)
{
  v.required("quantity", s.quantity,
             "pointer into the answer, like /wait_s/p90; of ranges the median");
  v.optional("point", s.point, "settings of the points it is about; default every point");
  v.optional("than", s.than,
             "settings: bounds are for the ratio to the point that differs in these");
  v.optional("at_least", s.at_least, "least value allowed");
  v.optional("at_most", s.at_most, "greatest value allowed");
}

template <class V>
void describe(V& v, FleetSpec& s)
{
  v.format("foretrain.fleet/1");
  v.optional("name", s.name, "name of the fleet");
  v.optional("description", s.description, "what it asks, for people");
  v.required("cluster", s.cluster, "the machines");
  v.optional("stack", s.stack, "software of all jobs, as in an experiment");
  v.optional("queues", s.queues, "quotas and limits; queues that are not named here have none");
  v.optional("policy", s.policy, "which job runs next, and where; default fifo", preset("policy"));
  v.optional("jobs", s.jobs, "recorded jobs; else there are arrivals");
  v.optional("arrivals", s.arrivals, "jobs that are drawn");
  v.optional("failures", s.failures, "when nodes go down and come back; default never");
  v.optional("maintenance", s.maintenance,
             "planned: jobs that would not end before are held back, those still there keep their "
             "work and wait again");
  v.optional("reservations", s.reservations,
             "nodes that only jobs of some accounts or queues may have for a while; others start "
             "there only if they would end before, and those that still run are left");
  v.optional("checkpoint", s.checkpoint, "what a failure leaves; default nothing");
  v.optional("seeds", s.seeds, "how often it is simulated, for intervals", between(1, 10000));
  v.optional("seed", s.seed, "the first seed; default 1", non_negative());
  v.optional(
      "sweep", s.sweep,
      "JSON pointer -> list of values; all combinations are simulated; several pointers with "
      "spaces between vary together");
  v.optional("expect", s.expect, "what must hold of the answer, else foretrain ends with 1");
}

} // namespace foretrain::experiments
