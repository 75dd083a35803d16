#include "models/fleet/running_plan.hpp"

#include <algorithm>
#include <map>

namespace foretrain::models::fleet {

namespace {

// Nodes that are out of service come back when the last window that holds them ends; who may have
// those of a reservation is seen where they fit, and everybody may when it ends.
void plan_windows(PlanProfile& plan, const Scheduler& s)
{
  std::map<int, Seconds> back;
  for (const Window& window : s.windows())
    if (window.is_maintenance() && window.from <= s.now() && window.until > s.now())
      for (const Slice& slice : gpus_of(window, s.shape()))
        if (s.is_down(slice.node))
          back[slice.node] = std::max(back[slice.node], window.until);
  for (const auto& [node, time] : back)
    plan.give_back({{node, s.every_gpu()}}, {time, kNever});
  for (const Window& window : s.windows())
    if (!window.is_maintenance())
      plan.keep_boundary(window.until);
    else if (window.from > s.now())
      plan.take(gpus_of(window, s.shape()), {window.from, window.until});
}

} // namespace

Seconds runs_until(const Scheduler& s, const Ending& ending)
{
  return std::max(s.now() + kOverdue, ending.time);
}

PlanProfile running_plan(const Scheduler& s)
{
  PlanProfile plan(s.now(), s.free());
  for (const Ending& ending : s.endings())
    plan.give_back(s.up_part(s.held(ending.job)), {runs_until(s, ending), kNever});
  plan_windows(plan, s);
  return plan;
}

Slot earliest_in(const PlanProfile& plan, const Scheduler& s, JobId id)
{
  return earlier_in(plan, s, id, {}, {s.now(), kNever});
}

Slot earlier_in(const PlanProfile& plan, const Scheduler& s, JobId id, const Slot& own,
                TimeSpan starts)
{
  return plan.earlier(
      own, starts, s.wanted(id), s.expected(id),
      [&](const GpuSet& free, Seconds start) { return s.place_at(free, id, start); });
}

void blame_plan(Scheduler& s, JobId id)
{
  const bool fits = s.free().count() >= s.wanted(id) && !s.place(s.free(), id).empty();
  s.blame(id, fits ? Cause::guard : s.why_not(id));
}

} // namespace foretrain::models::fleet
