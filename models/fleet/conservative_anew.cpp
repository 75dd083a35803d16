#include "models/fleet/backfill.hpp"
#include "models/fleet/running_plan.hpp"

namespace foretrain::models::fleet {

namespace {

// Only who starts now is asked: those behind the last that may have no say in it.
class ConservativeAnew final : public Backfill {
public:
  void pass(Scheduler& s) override
  {
    bool some_behind = false; // who starts lets them be looked at
    do
      some_behind = s.some_behind_depth();
    while (start_some(s) && some_behind);
    const std::size_t depth_end = s.depth_end();
    for (std::size_t i = 0; i < s.waiting().size(); ++i)
      if (!s.waiting()[i].gone)
        blame(s, s.waiting()[i].job, i < depth_end);
  }

private:
  static bool fits_free(const Scheduler& s, const Waiting& waiting)
  {
    return !waiting.gone && waiting.gpus <= s.free().count() && s.allowed(waiting.job);
  }

  static void blame(Scheduler& s, JobId id, bool is_looked_at)
  {
    if (!is_looked_at)
      s.blame(id, Cause::depth);
    else if (s.allowed(id))
      blame_plan(s, id);
    else
      s.blame(id, Cause::quota);
  }

  static bool start_some(Scheduler& s)
  {
    std::size_t end = s.depth_end(); // behind whom nobody may start
    while (end > 0 && !fits_free(s, s.waiting()[end - 1]))
      --end;
    return end > 0 && plan(s, end);
  }

  // Whether somebody started.
  static bool plan(Scheduler& s, std::size_t end)
  {
    bool started = false;
    PlanProfile plan = running_plan(s);
    const auto may_start = [&](const Waiting& waiting) {
      return fits_free(s, waiting) && plan.may_start_now(waiting.gpus, s.expected(waiting.job));
    };
    for (std::size_t i = 0; i < end; ++i) {
      while (end > i && !may_start(s.waiting()[end - 1]))
        --end;
      Waiting& waiting = s.waiting()[i];
      if (i >= end || waiting.gone || !s.allowed(waiting.job))
        continue;
      Slot slot = earliest_in(plan, s, waiting.job);
      if (slot.start == kNever)
        continue;
      plan.take(slot.gpus, {slot.start, slot.start + s.expected(waiting.job)});
      if (slot.start > s.now())
        continue;
      s.start(waiting, std::move(slot.gpus));
      started = true;
    }
    return started;
  }
};

} // namespace

std::unique_ptr<Backfill> conservative_anew()
{
  return std::make_unique<ConservativeAnew>();
}

} // namespace foretrain::models::fleet
