#include "models/fleet/backfill.hpp"
#include "models/fleet/running_plan.hpp"

namespace foretrain::models::fleet {

namespace {

// Only who starts now is asked: those behind the last that may have no say in it.
class ConservativeAnew final : public Backfill {
public:
  void pass(Scheduler& s) override
  {
    std::size_t end = s.waiting().size(); // behind whom nobody may start
    while (end > 0 && !fits_free(s, s.waiting()[end - 1]))
      --end;
    if (end > 0)
      plan(s, end);
    for (const Waiting& waiting : s.waiting())
      if (!waiting.gone)
        s.allowed(waiting.job) ? blame_plan(s, waiting.job) : s.blame(waiting.job, Cause::quota);
  }

private:
  static bool fits_free(const Scheduler& s, const Waiting& waiting)
  {
    return !waiting.gone && waiting.gpus <= s.free().count() && s.allowed(waiting.job);
  }

  static void plan(Scheduler& s, std::size_t end)
  {
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
      if (slot.start <= s.now())
        s.start(waiting, std::move(slot.gpus));
    }
  }
};

} // namespace

std::unique_ptr<Backfill> conservative_anew()
{
  return std::make_unique<ConservativeAnew>();
}

} // namespace foretrain::models::fleet
