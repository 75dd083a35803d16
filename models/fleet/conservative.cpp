#include "models/fleet/backfill.hpp"
#include "models/fleet/plan_profile.hpp"

#include <map>
#include <optional>
#include <utility>

namespace foretrain::models::fleet {

namespace {

// A job that runs for longer than was expected is expected to end in this time.
constexpr Seconds kOverdue{1};

class Conservative final : public Backfill {
public:
  void pass(Scheduler& s) override
  {
    if (!profile_ || s.node_changes() != node_changes_ || s.policy().order != Order::fifo)
      plan_again(s);
    profile_->pass_to(s.now());
    if (const Seconds freed_until = give_back_early_ends(s); freed_until > s.now())
      move_forward(s, freed_until);
    for (Waiting& waiting : s.waiting())
      if (!waiting.gone && !slots_.contains(waiting.job))
        take_slot(s, waiting.job);
    start_due(s);
  }

  // Where those behind a job move after it did, it may begin when nobody ends.
  Seconds next_start() const override
  {
    Seconds next = kNever;
    for (const auto& [id, planned] : slots_)
      if (!planned.runs)
        next = std::min(next, planned.slot.start);
    return next;
  }

private:
  struct Planned {
    Slot slot;
    Seconds until;
    bool runs = false;
  };

  // After nodes went or came, or where the order is not that of arrival.
  void plan_again(const Scheduler& s)
  {
    node_changes_ = s.node_changes();
    slots_.clear();
    profile_.emplace(s.now(), s.free());
    for (const Ending& ending : s.endings()) {
      const Allocation gpus = s.up_part(s.held(ending.job));
      const Seconds until = std::max(s.now() + kOverdue, ending.time);
      profile_->give_back(gpus, until, kNever);
      slots_[ending.job] = {{s.now(), gpus}, until, true};
    }
    plan_windows(s);
  }

  // Nodes that are out of service come back when the last window that holds them ends; who may have
  // those of a reservation is seen where they fit, and everybody may when it ends.
  void plan_windows(const Scheduler& s)
  {
    std::map<int, Seconds> back;
    for (const Window& window : s.windows())
      if (window.is_maintenance() && window.from <= s.now() && window.until > s.now())
        for (const Slice& slice : gpus_of(window, s.shape()))
          if (s.is_down(slice.node))
            back[slice.node] = std::max(back[slice.node], window.until);
    for (const auto& [node, time] : back)
      profile_->give_back({{node, s.every_gpu()}}, time, kNever);
    for (const Window& window : s.windows())
      if (!window.is_maintenance())
        profile_->keep_boundary(window.until);
      else if (window.from > s.now())
        profile_->take(gpus_of(window, s.shape()), window.from, window.until);
  }

  // Until when GPUs are free that jobs left before their time.
  Seconds give_back_early_ends(const Scheduler& s)
  {
    Seconds freed_until = s.now();
    if (!s.grew())
      return freed_until;
    for (auto it = slots_.begin(); it != slots_.end();) {
      if (!it->second.runs || !s.held(it->first).empty()) {
        ++it;
        continue;
      }
      if (it->second.until > s.now()) {
        profile_->give_back(it->second.slot.gpus, s.now(), it->second.until);
        freed_until = std::max(freed_until, it->second.until);
      }
      it = slots_.erase(it);
    }
    return freed_until;
  }

  // In order, each waiting job gives its reservation back and takes the earliest one. It would take
  // the same again where nothing was freed during it since it took it, also by those behind it the
  // last time, and nothing fits before.
  void move_forward(Scheduler& s, Seconds freed_until)
  {
    freed_until = std::max(freed_until, std::exchange(left_until_, Seconds(0)));
    for (const Waiting& waiting : s.waiting()) {
      const auto planned = slots_.find(waiting.job);
      if (waiting.gone || planned == slots_.end())
        continue;
      const Seconds start = planned->second.slot.start;
      if (start >= freed_until &&
          !profile_->may_fit_before(start, waiting.gpus, s.expected(waiting.job)))
        continue;
      const Planned old = std::move(planned->second);
      profile_->give_back(old.slot.gpus, old.slot.start, old.until);
      slots_.erase(planned);
      take_slot(s, waiting.job);
      if (!keeps(waiting.job, old.slot)) // what it leaves others may take
        left_until_ = std::max(left_until_, old.until);
      freed_until = std::max(freed_until, left_until_);
    }
  }

  bool keeps(JobId id, const Slot& slot) const
  {
    const auto planned = slots_.find(id);
    return planned != slots_.end() && planned->second.slot == slot;
  }

  void take_slot(Scheduler& s, JobId id)
  {
    if (!s.allowed(id)) {
      s.blame(id, Cause::quota);
      return;
    }
    const Seconds length = s.expected(id);
    Slot slot = profile_->earliest(s.wanted(id), length, [&](const GpuSet& free, Seconds start) {
      return s.place_at(free, id, start);
    });
    if (slot.start == kNever)
      return;
    profile_->take(slot.gpus, slot.start, slot.start + length);
    if (slot.start > s.now())
      s.blame(id, s.place(s.free(), id).empty() ? s.why_not(id) : Cause::guard);
    const Seconds until = slot.start + length;
    slots_[id] = {std::move(slot), until};
  }

  void start_due(Scheduler& s)
  {
    for (Waiting& waiting : s.waiting()) {
      const auto planned = slots_.find(waiting.job);
      if (waiting.gone || planned == slots_.end() || planned->second.slot.start > s.now() ||
          !s.allowed(waiting.job))
        continue;
      if (!s.free().contains(planned->second.slot.gpus)) { // somebody is overdue
        profile_.reset();
        s.blame(waiting.job, Cause::gpus);
        return;
      }
      planned->second.runs = true;
      s.start(waiting, planned->second.slot.gpus);
    }
  }

  std::optional<PlanProfile> profile_;
  std::map<JobId, Planned> slots_; // of jobs that wait or run
  Seconds left_until_{}; // until when GPUs are free that reservations left which were moved
  int node_changes_ = 0;
};

} // namespace

std::unique_ptr<Backfill> conservative()
{
  return std::make_unique<Conservative>();
}

} // namespace foretrain::models::fleet
