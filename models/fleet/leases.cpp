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
    for (const Lease& lease : leases) {
      times_.push_back(lease.start);
      times_.push_back(lease.end);
      leases_[lease.job].push_back(lease);
    }
    std::sort(times_.begin(), times_.end());
    by_start_ = std::move(leases);
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
    for (const JobId job : plan.waiting)
      if (beyond_leases(job, s.now()) && !start_beside_leases(plan, job))
        break;
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

  static bool in_use(const Plan& plan, const Lease& lease)
  {
    const auto& starts = plan.decisions.start;
    return std::any_of(starts.begin(), starts.end(),
                       [&](const Decision& it) { return it.job == lease.job; }) ||
           distinct_nodes(plan.s.held(lease.job)) == lease.nodes;
  }

  // GPUs of each node, of those free now, that no lease needs which begins until a job is expected
  // to have ended: what is leased now counts as given back when its lease ends.
  std::vector<int> spare_until(const Plan& plan, Seconds end) const
  {
    const Seconds now = plan.s.now();
    std::vector<std::map<Seconds, int>> changes(plan.free.size()); // of what is free
    const auto each = [&](const Lease& lease) {
      return plan.s.job(lease.job).gpus / static_cast<int>(lease.nodes.size());
    };
    for (const Lease& lease : by_start_) {
      if (lease.start >= end)
        break;
      if (lease.end <= now || (lease.start <= now && !in_use(plan, lease)))
        continue;
      for (const int node : lease.nodes) {
        auto& of_node = changes[static_cast<std::size_t>(node)];
        if (lease.start > now)
          of_node[lease.start] -= each(lease);
        of_node[lease.end] += each(lease);
      }
    }
    std::vector<int> spare = plan.free;
    for (std::size_t node = 0; node < spare.size(); ++node) {
      int free = plan.free[node];
      for (const auto& [time, change] : changes[node])
        if (time < end) {
          free += change;
          spare[node] = std::min(spare[node], free);
        }
      spare[node] = std::max(0, spare[node]);
    }
    return spare;
  }

  // On as few nodes as it can be divided over evenly, those with least to spare; where there are
  // none, as placement chooses, if no lease is in the way. Whether it is known what is free then.
  bool start_beside_leases(Plan& plan, JobId job) const
  {
    const int gpus = plan.s.job(job).gpus;
    const std::vector<int> spare = spare_until(plan, plan.s.now() + plan.s.expected(job));
    std::vector<int> nodes(spare.size());
    std::iota(nodes.begin(), nodes.end(), 0);
    const auto of = [](const std::vector<int>& list, int node) {
      return list[static_cast<std::size_t>(node)];
    };
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](int a, int b) { return of(spare, a) < of(spare, b); });
    for (int count = 1; count <= static_cast<int>(nodes.size()); ++count) {
      if (gpus % count != 0)
        continue;
      std::vector<int> chosen;
      for (const int node : nodes)
        if (static_cast<int>(chosen.size()) < count && of(spare, node) >= gpus / count)
          chosen.push_back(node);
      if (static_cast<int>(chosen.size()) < count)
        continue;
      for (const int node : chosen)
        plan.free[static_cast<std::size_t>(node)] -= gpus / count;
      std::sort(chosen.begin(), chosen.end());
      plan.decisions.start.push_back({job, chosen});
      return true;
    }
    if (spare != plan.free || std::accumulate(spare.begin(), spare.end(), 0) < gpus)
      return true;
    plan.decisions.start.push_back({job});
    return false;
  }

  std::map<JobId, std::vector<Lease>> leases_; // in order of time
  std::vector<Lease> by_start_;
  std::vector<Seconds> times_; // at which one begins or ends
};

} // namespace

Decide follow_leases(std::vector<Lease> leases)
{
  return [follower = std::make_shared<Follower>(std::move(leases))](const Scheduler& s) {
    return follower->decide(s);
  };
}

} // namespace foretrain::models::fleet
