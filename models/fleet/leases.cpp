#include "models/fleet/leases.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

namespace foretrain::models::fleet {

namespace {

class Follower {
public:
  explicit Follower(std::vector<Lease> leases)
  {
    std::stable_sort(leases.begin(), leases.end(),
                     [](const Lease& a, const Lease& b) { return a.start < b.start; });
    for (Lease& lease : leases) {
      times_.push_back(lease.start);
      times_.push_back(lease.end);
      leases_[lease.job].push_back(std::move(lease));
    }
    std::sort(times_.begin(), times_.end());
  }

  Decisions decide(const Scheduler& s)
  {
    Decisions decisions;
    decisions.ask = Ask::always;
    const auto later = std::upper_bound(times_.begin(), times_.end(), s.now());
    decisions.again = later == times_.end() ? kNever : *later;
    Plan plan{s, free_gpus(s), {}, decisions};
    for (const Ending& ending : s.endings())
      go_on_or_stop(plan, ending.job);
    for (const Waiting& waiting : s.waiting())
      if (!waiting.gone)
        plan.waiting.push_back(waiting.job);
    for (const JobId job : plan.waiting)
      if (const Lease* lease = lease_at(job, s.now()))
        start_leased(plan, *lease);
    int left = std::accumulate(plan.free.begin(), plan.free.end(), 0);
    for (const JobId job : plan.waiting)
      if (beyond_leases(job, s.now()))
        start_where_free(plan, job, left);
    return decisions;
  }

private:
  struct Plan {
    const Scheduler& s;
    std::vector<int> free; // GPUs, by node, after what was decided so far
    std::vector<JobId> waiting;
    Decisions& decisions;
  };

  static std::vector<int> free_gpus(const Scheduler& s)
  {
    std::vector<int> free;
    for (int node = 0; node < s.shape().nodes; ++node)
      free.push_back(s.free().count_on(node));
    return free;
  }

  const Lease* lease_at(JobId job, Seconds now) const
  {
    const auto it = leases_.find(job);
    if (it == leases_.end())
      return nullptr;
    for (const Lease& lease : it->second)
      if (lease.start <= now && now < lease.end)
        return &lease;
    return nullptr;
  }

  bool beyond_leases(JobId job, Seconds now) const
  {
    const auto it = leases_.find(job);
    return it == leases_.end() || it->second.back().end <= now;
  }

  static void stop(Plan& plan, JobId job)
  {
    for (const Slice& slice : plan.s.up_part(plan.s.held(job)))
      plan.free[static_cast<std::size_t>(slice.node)] += count(slice);
    plan.decisions.stop.push_back(job);
    plan.waiting.push_back(job);
  }

  void go_on_or_stop(Plan& plan, JobId job) const
  {
    if (const Lease* lease = lease_at(job, plan.s.now())) {
      if (distinct_nodes(plan.s.held(job)) != lease->nodes)
        stop(plan, job);
    } else if (!beyond_leases(job, plan.s.now()))
      stop(plan, job);
  }

  static bool fits(const Plan& plan, const Lease& lease, int each)
  {
    return std::all_of(lease.nodes.begin(), lease.nodes.end(),
                       [&](int node) { return plan.free[static_cast<std::size_t>(node)] >= each; });
  }

  static void start_leased(Plan& plan, const Lease& lease)
  {
    const int each = plan.s.job(lease.job).gpus / static_cast<int>(lease.nodes.size());
    if (!fits(plan, lease, each)) // a node is down, or who had it before is not done
      return;
    for (const int node : lease.nodes)
      plan.free[static_cast<std::size_t>(node)] -= each;
    plan.decisions.start.push_back({lease.job, lease.nodes});
  }

  static void start_where_free(Plan& plan, JobId job, int& left)
  {
    if (plan.s.job(job).gpus > left)
      return;
    left -= plan.s.job(job).gpus;
    plan.decisions.start.push_back({job});
  }

  std::map<JobId, std::vector<Lease>> leases_; // in order of time
  std::vector<Seconds> times_;                 // at which one begins or ends
};

} // namespace

Decide follow_leases(std::vector<Lease> leases)
{
  return [follower = std::make_shared<Follower>(std::move(leases))](const Scheduler& s) {
    return follower->decide(s);
  };
}

} // namespace foretrain::models::fleet
