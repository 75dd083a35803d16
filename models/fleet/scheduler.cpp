#include "models/fleet/scheduler.hpp"

#include <algorithm>

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

} // namespace

Scheduler::Scheduler(const Workload& workload, const ClusterShape& shape, const Policy& policy,
                     std::vector<Quota> quotas, std::vector<Window> windows)
    : workload_(workload), shape_(shape), policy_(policy), place_(place_by(policy.placement)),
      quotas_(std::move(quotas)), windows_(std::move(windows)), free_(shape.nodes),
      held_(workload.jobs.size()), node_down_(static_cast<std::size_t>(shape.nodes), 0),
      blames_(workload.jobs.size())
{
  const std::uint64_t every = lowest(~std::uint64_t{0}, shape.gpus_per_node);
  for (int node = 0; node < shape.nodes; ++node)
    free_.add({node, every});
}

Seconds Scheduler::expected(JobId id) const
{
  return job(id).limit == kNever ? job(id).work : job(id).limit;
}

Allocation Scheduler::fit(const GpuSet& free, JobId id) const
{
  return place_(free, shape_, {job(id).gpus, job(id).nodes});
}

Allocation Scheduler::place(const GpuSet& free, JobId id) const
{
  return windows_.empty() ? fit(free, id)
                          : fit(without_windows(free, shape_, windows_, now_, expected(id)), id);
}

Allocation Scheduler::up_part(const Allocation& gpus) const
{
  Allocation up;
  std::copy_if(gpus.begin(), gpus.end(), std::back_inserter(up),
               [&](const Slice& slice) { return !is_down(slice.node); });
  return up;
}

// GPUs come back when jobs end, and at the end of maintenance.
Slot Scheduler::earliest_beside_windows(JobId id) const
{
  std::vector<Seconds> times;
  for (const Ending& ending : endings_)
    times.push_back(std::max(now_, ending.time));
  for (const Window& window : windows_)
    if (window.until > now_)
      times.push_back(window.until);
  std::sort(times.begin(), times.end());
  for (const Seconds time : times) {
    GpuSet then = free_;
    for (const Ending& ending : endings_)
      if (ending.time <= time)
        then.add(up_part(held_[ending.job]));
    for (const Window& window : windows_)
      if (window.from <= now_ && window.until > now_ && window.until <= time)
        then.add(gpus_of(window, shape_));
    if (Allocation gpus =
            fit(without_windows(std::move(then), shape_, windows_, time, expected(id)), id);
        !gpus.empty())
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
    if (down_ == 0)
      then.add(held_[endings_[i].job]);
    else
      then.add(up_part(held_[endings_[i].job]));
    const bool together = i + 1 < endings_.size() && endings_[i + 1].time == endings_[i].time;
    if (together || then.count() < job(id).gpus)
      continue;
    if (Allocation gpus = fit(then, id); !gpus.empty())
      return {std::max(now_, endings_[i].time), std::move(gpus)};
  }
  return {};
}

// It would fit if it were not for maintenance, now or to come.
bool Scheduler::held_back(JobId id) const
{
  if (windows_.empty())
    return false;
  GpuSet all = free_;
  for (const Window& window : windows_)
    if (window.from <= now_ && now_ < window.until)
      all.add(gpus_of(window, shape_));
  return !fit(all, id).empty() && place(free_, id).empty();
}

Cause Scheduler::why_not(JobId id) const
{
  if (held_back(id))
    return Cause::maintenance;
  if (free_.count() >= job(id).gpus)
    return Cause::fragmentation;
  return free_.count() + down_ >= job(id).gpus ? Cause::failure : Cause::gpus;
}

void Scheduler::start(Waiting& waiting, Allocation gpus)
{
  const JobId id = waiting.job;
  blame(id, Cause::nothing);
  free_.remove(gpus);
  if (held_[id].empty())
    held_[id] = std::move(gpus);
  else
    held_[id].insert(held_[id].end(), gpus.begin(), gpus.end());
  quotas_.take(job(id).queue, job(id).gpus);
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
  if (blame.cause != Cause::nothing && now - blame.since >= blame.longest) {
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
  const Waiting entry{key, id, job(id).gpus, false};
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
  held_[id] = {};
  std::erase_if(endings_, [&](const Ending& ending) { return ending.job == id; });
  grew_ = true;
}

void Scheduler::set_down(int node, bool is_down)
{
  if (this->is_down(node) == is_down)
    return;
  node_down_[static_cast<std::size_t>(node)] = is_down ? 1 : 0;
  ++node_changes_;
  down_ += is_down ? shape_.gpus_per_node : -shape_.gpus_per_node;
  const std::uint64_t every = lowest(~std::uint64_t{0}, shape_.gpus_per_node);
  if (is_down) {
    free_.remove({node, every});
    return;
  }
  free_.add({node, every});
  const auto keep = [&](JobId id) { // that was not told yet, or waits for the rest of its pods
    for (const Slice& slice : held_[id])
      if (slice.node == node)
        free_.remove(slice);
  };
  for (const Ending& ending : endings_)
    keep(ending.job);
  for (const Waiting& waiting : waiting_)
    keep(waiting.job);
  grew_ = true;
}

void Scheduler::drop_pods(int node)
{
  for (const Waiting& waiting : waiting_)
    if (!waiting.gone)
      std::erase_if(held_[waiting.job], [&](const Slice& slice) { return slice.node == node; });
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
