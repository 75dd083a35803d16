#include "models/fleet/backfill.hpp"

namespace foretrain::models::fleet {

namespace {

class StrictOrder final : public Backfill {
public:
  void pass(Scheduler& s) override
  {
    bool blocked = false;
    for (Waiting& waiting : s.waiting()) {
      if (waiting.gone)
        continue;
      if (blocked) {
        if (!s.grew()) // those that wait longer know it already
          break;
        s.blame(waiting.job, Cause::order);
        continue;
      }
      if (!s.allowed(waiting.job)) {
        s.blame(waiting.job, Cause::quota);
        continue;
      }
      if (Allocation gpus = s.place(s.free(), waiting.job); !gpus.empty()) {
        s.start(waiting, std::move(gpus));
        continue;
      }
      s.blame(waiting.job, s.why_not(waiting.job));
      blocked = true;
    }
    if (blocked)
      for (const JobId id : s.arrived())
        if (s.held(id).empty() && s.cause(id) == Cause::nothing)
          s.blame(id, Cause::order);
  }
};

} // namespace

std::unique_ptr<Backfill> strict_order()
{
  return std::make_unique<StrictOrder>();
}

} // namespace foretrain::models::fleet
