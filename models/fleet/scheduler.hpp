// The state that policies see and change: who waits, who runs on what, and what is free.
#pragma once

#include "models/fleet/job.hpp"
#include "models/fleet/maintenance.hpp"
#include "models/fleet/order.hpp"
#include "models/fleet/policy.hpp"
#include "models/fleet/quotas.hpp"

#include <map>
#include <set>
#include <span>
#include <vector>

namespace foretrain::models::fleet {

struct Waiting {
  double key = 0; // of the order
  JobId job = 0;
  int gpus = 0;
  bool gone = false; // started, and to be dropped from the list
};

/// A running job as a plan sees it: it ends no later than this.
struct Ending {
  Seconds time;
  JobId job;
};

/// A job's earliest start as far as is known, and the GPUs that it will have.
struct Slot {
  Seconds start{kNever};
  Allocation gpus;
  bool operator==(const Slot&) const = default;
};

class Scheduler {
public:
  Scheduler(const Workload& workload, const ClusterShape& shape, const Policy& policy,
            std::vector<Quota> quotas, std::vector<Window> windows = {});

  Seconds now() const { return now_; }
  const Job& job(JobId id) const { return workload_.jobs[id]; }
  const Policy& policy() const { return policy_; }
  const ClusterShape& shape() const { return shape_; }

  const GpuSet& free() const { return free_; }
  /// In the order of the policy; those that are gone are marked.
  std::vector<Waiting>& waiting() { return waiting_; }
  const std::vector<Waiting>& waiting() const { return waiting_; }
  std::size_t count_waiting() const { return waiting_.size() - gone_; }
  /// In `waiting`, behind those that conservative backfilling looks at: the policy's depth.
  std::size_t depth_end() const;
  bool some_behind_depth() const
  {
    return count_waiting() > static_cast<std::size_t>(policy_.depth);
  }
  /// Running jobs, the first to end first.
  std::span<const Ending> endings() const { return endings_; }
  const Allocation& held(JobId id) const { return held_[id]; }
  int running() const { return static_cast<int>(endings_.size()); }
  /// GPUs of nodes that are down.
  int down() const { return down_; }
  /// How often plans of what will be free became void: nodes went down or came back, jobs kept
  /// their place or went on.
  int node_changes() const { return node_changes_; }
  /// Those of a job's GPUs that come back when it ends: not of nodes that are down, or drain.
  Allocation up_part(const Allocation& gpus) const;

  /// Run time that the scheduler expects: the job's limit, else that which it takes alone.
  Seconds expected(JobId id) const;
  bool allowed(JobId id) const { return quotas_.allow(job(id).queue, wanted(id)); }
  /// GPUs that a waiting job still needs: all, or those in place of what failed.
  int wanted(JobId id) const;
  /// Where a job starts now: on none of the nodes that windows keep from it before its end.
  Allocation place(const GpuSet& free, JobId id) const { return place_at(free, id, now_); }
  /// Where it starts at a time.
  Allocation place_at(const GpuSet& free, JobId id, Seconds start) const;
  /// Of maintenance and reservations, by their beginning.
  std::span<const Window> windows() const { return windows_.all(); }
  /// The earliest time at which a job fits if running jobs take as long as they may.
  Slot earliest(JobId id) const;
  /// Why a job that is not running does not fit into what is free.
  Cause why_not(JobId id) const;

  void start(Waiting& waiting, Allocation gpus);
  /// Jobs of a pass that runs: they were started, in this order.
  std::vector<JobId> take_started();
  /// Notes what a job waits for, from now on.
  void blame(JobId id, Cause cause);
  Cause cause(JobId id) const { return blames_[id].cause; }
  /// What took most of a job's wait.
  Cause waited_for(JobId id) const;

  // For the simulation, and for preemption.
  void set_now(Seconds now) { now_ = now; }
  void enqueue(JobId id, double key);
  void set_key(Waiting& waiting, double key) { waiting.key = key; }
  void sort();
  void drop_gone();
  /// GPUs are free again, but for those of nodes that are down.
  void release(JobId id);
  /// All GPUs of a node, or some; what is foreseen plans know of.
  void set_down(int node, bool is_down) { set_down(Slice{node, every_gpu()}, is_down); }
  void set_down(const Slice& gpus, bool is_down, bool foreseen = false);
  /// Nothing starts on a node any more, whose GPUs go down as jobs leave them.
  void drain(int node);
  bool drains(int node) const { return drains_.contains(node); }
  /// What waiting jobs hold of GPUs that went down they have to get again.
  void take_from_waiting(const Slice& gpus);
  bool is_down(int node) const { return down_on(node) == every_gpu(); }
  GpuBits down_on(int node) const { return down_gpus_[static_cast<std::size_t>(node)]; }
  GpuBits every_gpu() const { return first_gpus(shape_.gpus_per_node); }
  /// A job that failed waits for GPUs in place of those that are down, and keeps the others.
  void keep_place(JobId id);
  bool keeps_place(JobId id) const { return !lost_.empty() && lost_.contains(id); }
  /// Whether jobs that wait may hold GPUs.
  bool waiting_jobs_hold() const { return !policy_.gang || !lost_.empty(); }
  void expect_end(JobId id, Seconds time);
  /// Of jobs that wait for the rest of their pods.
  void hold(JobId id, const Allocation& more);
  /// Whether GPUs are free that were not at the last pass.
  bool grew() const { return grew_; }
  void set_grew(bool grew) { grew_ = grew; }
  /// Jobs that joined the queue since the last pass.
  const std::vector<JobId>& arrived() const { return arrived_; }
  void forget_arrived() { arrived_.clear(); }

private:
  using LostGpus = std::map<int, int>; // how many by the node on which they were

  void insert_ending(const Ending& ending);
  void take_drained(const Allocation& left);
  std::vector<Window> maintained_now() const;
  Slot earliest_beside_windows(JobId id) const;
  Allocation fit(const GpuSet& free, JobId id) const;
  Allocation in_place_of_lost(GpuSet free, const LostGpus& lost) const;
  Cause held_back(JobId id) const;

  struct Blame {
    Cause cause = Cause::nothing;
    double since = 0;
    double longest = 0;
    Cause worst = Cause::nothing;
  };

  const Workload& workload_;
  ClusterShape shape_;
  Policy policy_;
  Place place_;
  Quotas quotas_;
  Windows windows_, maintenance_; // those of maintenance alone
  Seconds now_{};
  GpuSet free_;
  std::vector<Waiting> waiting_;
  std::size_t gone_ = 0;
  std::vector<Ending> endings_;
  std::vector<Allocation> held_; // by job
  std::vector<JobId> started_, arrived_;
  std::map<JobId, LostGpus> lost_; // of jobs that keep their place
  std::vector<GpuBits> down_gpus_; // by node
  int down_ = 0;
  std::set<int> drains_; // nodes, as long as a job holds some of one
  int node_changes_ = 0;
  bool grew_ = false;
  std::vector<Blame> blames_;
};

} // namespace foretrain::models::fleet
