#include "models/fleet/backfill.hpp"

namespace foretrain::models::fleet {

namespace {

class Easy final : public Backfill {
public:
  void pass(Scheduler& s) override
  {
    const bool same_head = start_heads(s);
    if (head_ == nullptr)
      return;
    if (!same_head || s.grew())
      reservation_ = s.earliest(head_->job);
    GpuSet unreserved = s.free();
    unreserved.remove(reservation_.gpus);
    unfit_.clear();
    if (same_head && !s.grew()) { // nothing new fits but what has come
      for (const JobId id : s.arrived())
        for (Waiting& waiting : s.waiting())
          if (waiting.job == id && &waiting != head_)
            try_to_start(s, waiting, unreserved);
    } else {
      for (Waiting& waiting : s.waiting())
        if (&waiting != head_)
          try_to_start(s, waiting, unreserved);
    }
    last_head_ = head_->job;
  }

private:
  // Starts jobs in order; whether the first that does not fit is the one of the last pass.
  bool start_heads(Scheduler& s)
  {
    head_ = nullptr;
    bool started = false;
    for (Waiting& waiting : s.waiting()) {
      if (waiting.gone)
        continue;
      if (!s.allowed(waiting.job)) {
        s.blame(waiting.job, Cause::quota);
        continue;
      }
      if (Allocation gpus = s.place(s.free(), waiting.job); !gpus.empty()) {
        s.start(waiting, std::move(gpus));
        started = true;
        continue;
      }
      s.blame(waiting.job, s.why_not(waiting.job));
      head_ = &waiting;
      return !started && last_head_ == waiting.job;
    }
    last_head_ = kNobody;
    return false;
  }

  void try_to_start(Scheduler& s, Waiting& waiting, GpuSet& unreserved)
  {
    if (waiting.gone)
      return;
    if (waiting.gpus > s.free().count()) {
      s.blame(waiting.job, Cause::gpus);
      return;
    }
    if (!s.allowed(waiting.job)) {
      s.blame(waiting.job, Cause::quota);
      return;
    }
    const bool before = s.now() + s.expected(waiting.job) <= reservation_.start;
    if (unfit(waiting, before, s))
      return;
    Allocation gpus = s.place(before ? s.free() : unreserved, waiting.job);
    if (gpus.empty()) {
      const bool guarded = !before && !s.place(s.free(), waiting.job).empty();
      s.blame(waiting.job, guarded ? Cause::guard : s.why_not(waiting.job));
      unfit_.push_back({waiting.job, waiting.gpus, before, s.cause(waiting.job)});
      return;
    }
    unreserved.remove(gpus);
    s.start(waiting, std::move(gpus));
  }

  // What did not fit in this pass does not fit later in it; where there are windows to come, if it
  // takes as long and is of the same queue and account, which windows go by.
  bool unfit(const Waiting& waiting, bool before, Scheduler& s) const
  {
    const Job& job = s.job(waiting.job);
    const auto alike = [&](const Unfit& known) {
      const Job& other = s.job(known.job);
      return known.gpus == waiting.gpus && known.before == before && other.nodes == job.nodes &&
             (s.windows().empty() || (s.expected(known.job) <= s.expected(waiting.job) &&
                                      other.queue == job.queue && other.account == job.account));
    };
    for (const Unfit& known : unfit_)
      if (alike(known)) {
        s.blame(waiting.job, known.cause);
        return true;
      }
    return false;
  }

  struct Unfit {
    JobId job;
    int gpus; // that it still needs
    bool before;
    Cause cause;
  };
  static constexpr JobId kNobody = ~JobId{0};

  Waiting* head_ = nullptr;
  JobId last_head_ = kNobody;
  Slot reservation_;
  std::vector<Unfit> unfit_;
};

} // namespace

std::unique_ptr<Backfill> easy()
{
  return std::make_unique<Easy>();
}

} // namespace foretrain::models::fleet
