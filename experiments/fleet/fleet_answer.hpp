// What a fleet's simulations say, over all seeds.
#pragma once

#include "experiments/fleet/fleet.hpp"
#include "experiments/run/keep/range.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace foretrain::experiments {

/// Of a quantity of jobs: its mean and quantiles over jobs, each a range over seeds.
struct FleetSpread {
  Range mean, median, p90, p99;
};

struct FleetJobCounts {
  int submitted = 0, completed = 0, timeout = 0, rejected = 0, waiting = 0, unfinished = 0,
      running = 0, stuck = 0;
};

struct FleetGroup {
  int jobs = 0;
  std::optional<FleetSpread> wait_s, completion_s; // of those that ran, where any did
  Range gpu_hours;                                 // that they held
};

struct FleetHours {
  Range productive, queued, fragmented, contended, checkpoint, lost, restart, repair, idle, held;
};

struct FleetFailures {
  Range failures, interruptions;
  std::optional<Range> drained;
  Range nodes_down_mean, nodes_down_most;
};

struct FleetTraceAnswer {
  int read = 0, left_out = 0;
  std::vector<TraceNote> notes;
};

struct FleetAnswer {
  std::string fleet;
  std::string version;
  std::uint64_t seed = 1;
  int seeds = 1;
  std::string policy;
  int gpus = 0;
  bool interrupted = false;
  FleetJobCounts jobs;
  Range makespan_s;
  std::optional<FleetSpread> wait_s, completion_s, slowdown; // of those that ran, where any did
  Range utilisation, goodput, ettr;
  FleetHours gpu_hours;
  std::optional<Range> cost;
  std::string currency; // of it
  std::optional<Range> energy_kwh;
  std::vector<std::pair<std::string, FleetGroup>> by_queue, by_account, by_size;
  std::vector<std::pair<std::string, int>> waited_for; // jobs of the first seed
  std::optional<FleetFailures> failures;
  std::optional<double> interval_of_daly;
  std::optional<int> situations; // of jobs that were simulated together
  std::optional<FleetTraceAnswer> trace;
  std::vector<std::string> warnings;
};

/// A part of the GPU hours, by its name for people.
struct FleetHoursPart {
  const char* name;
  Range FleetHours::*part;
};

/// All parts, in the order in which they are told.
std::span<const FleetHoursPart> fleet_hours_parts();

/// GPU hours of the cluster from the first submission to the last end, the median over seeds. Those
/// of its parts add up to it in each seed, their medians only nearly.
double cluster_gpu_hours(const FleetAnswer& answer);

/// Jobs that never ran: rejected, stuck, or waiting at the end.
int never_run(const FleetJobCounts& jobs);

/// The range of a quantity whose values are those of seeds; of one seed it has no width.
Range over_seeds(const std::vector<double>& values);

/// Of at least one run.
FleetAnswer fleet_answer(const LoadedFleet& fleet, std::span<const FleetRun> runs);

/// The time in seconds that nine of ten submitted jobs wait less than; those that never start, also
/// because they are rejected, wait for ever.
double wait_p90_of_all(const FleetRun& run);

template <class V>
void describe(V& v, FleetSpread& s)
{
  v.required("mean", s.mean, "over jobs");
  v.required("median", s.median, "over jobs");
  v.required("p90", s.p90, "nine of ten jobs have less");
  v.required("p99", s.p99, "99 of 100 jobs have less");
}

template <class V>
void describe(V& v, FleetJobCounts& s)
{
  v.required("submitted", s.submitted, "jobs of the first seed");
  v.required("completed", s.completed, "with all their work");
  v.required("timeout", s.timeout, "killed at their limit");
  v.required(
      "rejected", s.rejected,
      "larger than the cluster or their queue's quota, or more GPUs on a node than nodes have");
  v.required("waiting", s.waiting, "at the end: they never got all their GPUs, or not again");
  v.optional("unfinished", s.unfinished,
             "of those that wait: they had started, and a failure took their GPUs");
  v.required("running", s.running, "when the simulation was interrupted");
  v.required("stuck", s.stuck, "of those that wait: they wait for each other's GPUs for ever");
}

template <class V>
void describe(V& v, FleetGroup& s)
{
  v.required(
      "jobs", s.jobs,
      "that ran to their end, of the first seed; ranges are over the seeds that have such jobs");
  v.optional("wait_s", s.wait_s, "from submission to start, of those that ran to their end");
  v.optional("completion_s", s.completion_s,
             "from submission to end, of those that ran to their end");
  v.required("gpu_hours", s.gpu_hours,
             "that they held while they ran, broken ones too until that is noticed");
}

template <class V>
void describe(V& v, FleetHours& s)
{
  v.required("productive", s.productive, "work that counts, at the rate that jobs have alone");
  v.required("queued", s.queued, "GPUs free while jobs wait");
  v.required("fragmented", s.fragmented,
             "GPUs free, enough for the next job, but not where its placement needs them");
  v.required("contended", s.contended, "by which work took longer than alone");
  v.required("checkpoint", s.checkpoint, "writes that work waits for");
  v.required("lost", s.lost, "work that was done again after failures");
  v.required("restart", s.restart, "until failures are noticed, and until work goes on");
  v.required("repair", s.repair,
             "nodes down, for repair or maintenance, without spares in their place");
  v.required("idle", s.idle, "GPUs free while no job waits");
  v.required("held", s.held, "by jobs that wait for the rest of their GPUs");
}

template <class V>
void describe(V& v, FleetFailures& s)
{
  v.required("failures", s.failures,
             "of nodes in service, of single GPUs and of the storage, where they are told");
  v.required("interruptions", s.interruptions, "of jobs");
  v.optional("drained", s.drained, "nodes that were found faulty before they failed");
  v.required("nodes_down_mean", s.nodes_down_mean, "without spares in their place, over time");
  v.required("nodes_down_most", s.nodes_down_most, "at once");
}

template <class V>
void describe(V& v, TraceNote& s)
{
  v.required("what", s.what, "about these jobs");
  v.required("jobs", s.jobs, "how many");
  v.required("first", s.first, "where the first one stands");
}

template <class V>
void describe(V& v, FleetTraceAnswer& s)
{
  v.required("read", s.read, "jobs and lines");
  v.required("left_out", s.left_out, "of them, for reasons that notes tell");
  v.optional("notes", s.notes, "what should be known of them");
}

template <class V>
void describe(V& v, FleetAnswer& s)
{
  v.required("fleet", s.fleet, "its name");
  v.required("version", s.version, "of foretrain");
  v.required("seed", s.seed, "the first");
  v.required("seeds", s.seeds, "how often it was simulated");
  v.required("policy", s.policy, "its name");
  v.required("gpus", s.gpus, "of the cluster, without spares");
  v.optional("interrupted", s.interrupted, "it was stopped before its end", {}, s.interrupted);
  v.required("jobs", s.jobs, "how many there were, and what became of them");
  v.required("makespan_s", s.makespan_s, "from the first submission to the last end");
  v.optional("wait_s", s.wait_s,
             "from submission to the first start, of jobs that ran to their end");
  v.optional("completion_s", s.completion_s,
             "from submission to end, of jobs that ran to their end");
  v.optional("slowdown", s.slowdown,
             "completion over run time, of which at least ten seconds count (bounded slowdown)");
  v.required("utilisation", s.utilisation, "GPU time that jobs held, of the cluster's");
  v.required("goodput", s.goodput, "productive GPU time, of the cluster's");
  v.required("ettr", s.ettr, "productive GPU time, of what jobs held: effective training time");
  v.required("gpu_hours", s.gpu_hours, "where the cluster's GPU hours went; they add up to it");
  v.optional("cost", s.cost, "of the cluster from the first submission to the last end");
  v.optional("currency", s.currency, "of cost, where the cluster names it", {},
             !s.currency.empty());
  v.optional("energy_kwh", s.energy_kwh, "what GPUs and nodes drew in that time");
  v.required("by_queue", s.by_queue, "jobs of each queue");
  v.required("by_account", s.by_account, "jobs of each account");
  v.required("by_size", s.by_size, "jobs by their GPUs");
  v.required("waited_for", s.waited_for, "jobs by what took most of their wait");
  v.optional("failures", s.failures, "where there are any");
  v.optional("interval_of_daly", s.interval_of_daly,
             "between checkpoints, that held least GPU time in simulations, of Daly's");
  v.optional("situations", s.situations,
             "of jobs on their nodes beside others that were simulated, where speeds are");
  v.optional("trace", s.trace, "the file of recorded jobs");
  v.optional("warnings", s.warnings, "what the reader has to know");
}

} // namespace foretrain::experiments
