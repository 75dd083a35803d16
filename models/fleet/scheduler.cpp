#include "models/fleet/scheduler.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace foretrain::models::fleet {

namespace {

bool goes_before(const Waiting& a, const Waiting& b)
{
  return a.key != b.key ? a.key < b.key : a.job < b.job;
}

bool ends_before(const Ending& a, const Ending& b)
{
  return a.time != b.time ? a.time < b.time : a.job < b.job;
}

std::vector<Window> maintenance_of(const std::vector<Window>& windows)
{
  std::vector<Window> some;
  std::ranges::copy_if(windows, std::back_inserter(some), &Window::is_maintenance);
  return some;
}

int all_of(const std::map<int, int>& gpus_by_node)
{
  return std::accumulate(gpus_by_node.begin(), gpus_by_node.end(), 0,
                         [](int sum, const auto& entry) { return sum + entry.second; });
}

} // namespace

Scheduler::Scheduler(const Workload& workload, const ClusterShape& shape, const Policy& policy,
                     std::vector<Quota> quotas, std::vector<Window> windows)
    : workload_(workload), shape_(shape), policy_(policy), place_(place_by(policy.placement)),
      quotas_(std::move(quotas)), windows_(windows), maintenance_(maintenance_of(windows)),
      free_(shape), held_(workload.jobs.size()),
      down_gpus_(static_cast<std::size_t>(shape.nodes), 0), blames_(workload.jobs.size())
{
  for (int node = 0; node < shape.nodes; ++node)
    free_.add({node, every_gpu()});
}

Seconds Scheduler::expected(JobId id) const
{
  return job(id).limit == kNever ? job(id).alone() : job(id).limit;
}

int Scheduler::wanted(JobId id) const
{
  if (!keeps_place(id))
    return job(id).gpus;
  return all_of(lost_.at(id));
}

Allocation Scheduler::fit(const GpuSet& free, JobId id) const
{
  return keeps_place(id) ? in_place_of_lost(free, lost_.at(id))
                         : place_(free, shape_, {job(id).gpus, job(id).nodes});
}

// For each node the same one again, or another one that has as many free GPUs, and few more.
Allocation Scheduler::in_place_of_lost(GpuSet free, const LostGpus& lost) const
{
  Allocation taken;
  const auto take = [&](int node, int gpus) {
    taken.push_back({node, lowest(free.on(node), gpus)});
    free.remove(taken.back());
  };
  std::vector<int> elsewhere;
  for (const auto& [node, gpus] : lost)
    if (free.count_on(node) >= gpus)
      take(node, gpus);
    else
      elsewhere.push_back(gpus);
  std::sort(elsewhere.begin(), elsewhere.end(), std::greater<>());
  for (const int gpus : elsewhere) {
    int best = -1;
    for (int node = 0; node < shape_.nodes; ++node)
      if (free.count_on(node) >= gpus && (best < 0 || free.count_on(node) < free.count_on(best)))
        best = node;
    if (best < 0)
      return {};
    take(best, gpus);
  }
  return taken;
}

std::size_t Scheduler::depth_end() const
{
  const auto depth = static_cast<std::size_t>(policy_.depth);
  if (count_waiting() <= depth)
    return waiting_.size();
  std::size_t seen = 0, end = 0;
  for (; seen < depth; ++end)
    seen += waiting_[end].gone ? 0U : 1U;
  return end;
}

Allocation Scheduler::place_at(const GpuSet& free, JobId id, Seconds start) const
{
  if (windows_.empty())
    return fit(free, id);
  return fit(without_windows(free, shape_, windows_, job(id), start, expected(id)), id);
}

Allocation Scheduler::up_part(const Allocation& gpus) const
{
  Allocation up;
  for (const Slice& slice : gpus)
    if (const GpuBits rest = slice.gpus & ~down_on(slice.node); rest != 0 && !drains(slice.node))
      up.push_back({slice.node, rest});
  return up;
}

std::vector<Window> Scheduler::maintained_now() const
{
  std::vector<Window> found;
  for (const Window& window : maintenance_.about(now_, kNever)) {
    if (window.from > now_)
      break;
    if (window.until > now_)
      found.push_back(window);
  }
  return found;
}

// GPUs come back when jobs end, and at the end of maintenance.
Slot Scheduler::earliest_beside_windows(JobId id) const
{
  std::vector<Seconds> times;
  for (const Ending& ending : endings_)
    times.push_back(std::max(now_, ending.time));
  for (const Window& window : windows_.about(now_, kNever))
    if (window.until > now_)
      times.push_back(window.until);
  std::sort(times.begin(), times.end());
  std::vector<Window> passing = maintained_now(); // the first to pass last
  std::ranges::sort(passing, std::greater<>(), &Window::until);
  GpuSet then = free_;
  auto ending = endings_.begin();
  for (const Seconds time : times) {
    for (; ending != endings_.end() && ending->time <= time; ++ending)
      then.add(up_part(held_[ending->job]));
    for (; !passing.empty() && passing.back().until <= time; passing.pop_back())
      then.add(gpus_of(passing.back(), shape_));
    if (Allocation gpus = place_at(then, id, time); !gpus.empty())
      return {time, std::move(gpus)};
  }
  return {};
}

Slot Scheduler::earliest(JobId id) const
{
  if (!windows_.empty())
    return earliest_beside_windows(id);
  GpuSet then = free_;
  for (std::size_t i = 0; i < endings_.size(); ++i) {
    if (down_ == 0 && drains_.empty())
      then.add(held_[endings_[i].job]);
    else
      then.add(up_part(held_[endings_[i].job]));
    const bool together = i + 1 < endings_.size() && endings_[i + 1].time == endings_[i].time;
    if (together || then.count() < wanted(id))
      continue;
    if (Allocation gpus = fit(then, id); !gpus.empty())
      return {std::max(now_, endings_[i].time), std::move(gpus)};
  }
  return {};
}

// What keeps it from GPUs that it would fit into: windows, now or to come.
Cause Scheduler::held_back(JobId id) const
{
  if (windows_.empty() || !place(free_, id).empty())
    return Cause::nothing;
  GpuSet all = free_;
  for (const Window& window : maintained_now())
    all.add(gpus_of(window, shape_));
  if (fit(all, id).empty())
    return Cause::nothing;
  const bool unreserved =
      !fit(without_windows(free_, shape_, maintenance_, job(id), now_, expected(id)), id).empty();
  return unreserved ? Cause::reservation : Cause::maintenance;
}

Cause Scheduler::why_not(JobId id) const
{
  if (const Cause cause = held_back(id); cause != Cause::nothing)
    return cause;
  if (free_.count() >= wanted(id))
    return Cause::fragmentation;
  return free_.count() + down_ >= wanted(id) ? Cause::failure : Cause::gpus;
}

void Scheduler::start(Waiting& waiting, Allocation gpus)
{
  const JobId id = waiting.job;
  blame(id, Cause::nothing);
  free_.remove(gpus);
  quotas_.take(job(id).queue, wanted(id));
  if (lost_.erase(id) > 0)
    ++node_changes_; // plans count on all its GPUs again
  if (held_[id].empty())
    held_[id] = std::move(gpus);
  else
    held_[id].insert(held_[id].end(), gpus.begin(), gpus.end());
  insert_ending({now_ + expected(id), id});
  waiting.gone = true;
  ++gone_;
  started_.push_back(id);
}

std::vector<JobId> Scheduler::take_started()
{
  return std::exchange(started_, {});
}

void Scheduler::blame(JobId id, Cause cause)
{
  Blame& blame = blames_[id];
  if (blame.cause == cause)
    return;
  const double now = now_.value();
  if (blame.cause != Cause::nothing && now > blame.since && now - blame.since >= blame.longest) {
    blame.longest = now - blame.since;
    blame.worst = blame.cause;
  }
  blame.cause = cause;
  blame.since = now;
}

Cause Scheduler::waited_for(JobId id) const
{
  return blames_[id].worst;
}

void Scheduler::enqueue(JobId id, double key)
{
  const Waiting entry{key, id, wanted(id), false};
  waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), entry, goes_before), entry);
  arrived_.push_back(id);
}

void Scheduler::sort()
{
  std::sort(waiting_.begin(), waiting_.end(), goes_before);
}

void Scheduler::drop_gone()
{
  if (gone_ < 32 + waiting_.size() / 8)
    return;
  std::erase_if(waiting_, [](const Waiting& waiting) { return waiting.gone; });
  gone_ = 0;
}

void Scheduler::release(JobId id)
{
  free_.add(up_part(held_[id]));
  quotas_.give_back(job(id).queue, job(id).gpus);
  take_drained(std::exchange(held_[id], {}));
  std::erase_if(endings_, [&](const Ending& ending) { return ending.job == id; });
  grew_ = true;
}

void Scheduler::set_down(const Slice& gpus, bool is_down, bool foreseen)
{
  GpuBits& down = down_gpus_[static_cast<std::size_t>(gpus.node)];
  const Slice changed{gpus.node, gpus.gpus & (is_down ? ~down : down)};
  if (changed.gpus == 0)
    return;
  down ^= changed.gpus;
  node_changes_ += foreseen ? 0 : 1;
  down_ += is_down ? count(changed) : -count(changed);
  if (is_down) {
    free_.remove(changed);
    if (down == every_gpu())
      drains_.erase(gpus.node);
    return;
  }
  free_.add(changed);
  const auto keep = [&](JobId id) { // that was not told yet, or waits for the rest of its GPUs
    for (const Slice& slice : held_[id])
      if (slice.node == changed.node)
        free_.remove(slice);
  };
  for (const Ending& ending : endings_)
    keep(ending.job);
  for (const Waiting& waiting : waiting_)
    keep(waiting.job);
  grew_ = true;
}

void Scheduler::drain(int node)
{
  drains_.insert(node);
  ++node_changes_; // plans count on its GPUs no longer
  set_down({node, free_.on(node)}, true);
}

void Scheduler::take_drained(const Allocation& left)
{
  if (drains_.empty())
    return;
  for (const Slice& slice : left)
    if (drains(slice.node))
      set_down(slice, true);
}

void Scheduler::take_from_waiting(const Slice& gpus)
{
  for (Waiting& waiting : waiting_) {
    if (waiting.gone)
      continue;
    for (Slice& slice : held_[waiting.job]) {
      if (slice.node != gpus.node)
        continue;
      const int dropped = count(Slice{slice.node, slice.gpus & gpus.gpus});
      slice.gpus &= ~gpus.gpus;
      if (dropped > 0 && keeps_place(waiting.job)) {
        quotas_.give_back(job(waiting.job).queue, dropped);
        lost_[waiting.job][slice.node] += dropped;
        waiting.gpus += dropped;
      }
    }
    std::erase_if(held_[waiting.job], [](const Slice& slice) { return slice.gpus == 0; });
  }
}

void Scheduler::keep_place(JobId id)
{
  LostGpus lost;
  for (const Slice& slice : held_[id])
    if (const int gpus = count(slice) - count(up_part({slice})); gpus > 0)
      lost[slice.node] += gpus;
  Allocation up = up_part(held_[id]);
  take_drained(std::exchange(held_[id], std::move(up)));
  quotas_.give_back(job(id).queue, all_of(lost));
  lost_[id] = std::move(lost);
  std::erase_if(endings_, [&](const Ending& ending) { return ending.job == id; });
  ++node_changes_; // plans count on its GPUs no longer
  grew_ = true;
}

void Scheduler::expect_end(JobId id, Seconds time)
{
  std::erase_if(endings_, [&](const Ending& ending) { return ending.job == id; });
  insert_ending({time, id});
}

void Scheduler::insert_ending(const Ending& ending)
{
  endings_.insert(std::upper_bound(endings_.begin(), endings_.end(), ending, ends_before), ending);
}

void Scheduler::hold(JobId id, const Allocation& more)
{
  free_.remove(more);
  held_[id].insert(held_[id].end(), more.begin(), more.end());
}

} // namespace foretrain::models::fleet
