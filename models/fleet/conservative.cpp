#include "models/fleet/backfill.hpp"
#include "models/fleet/plan_profile.hpp"

#include <map>
#include <optional>

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
    plan_maintenance(s);
  }

  // Nodes that are out of service come back when the last window that holds them ends.
  void plan_maintenance(const Scheduler& s)
  {
    std::map<int, Seconds> back;
    for (const Window& window : s.windows())
      if (window.from <= s.now() && window.until > s.now())
        for (const Slice& slice : gpus_of(window, s.shape()))
          if (s.is_down(slice.node))
            back[slice.node] = std::max(back[slice.node], window.until);
    const std::uint64_t every = lowest(~std::uint64_t{0}, s.shape().gpus_per_node);
    for (const auto& [node, time] : back)
      profile_->give_back({{node, every}}, time, kNever);
    for (const Window& window : s.windows())
      if (window.from > s.now())
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

  // In order, each waiting job gives its reservation back and takes the earliest one. Nothing
  // changes for those that begin after all that was freed and fit nowhere before.
  void move_forward(Scheduler& s, Seconds freed_until)
  {
    for (const Waiting& waiting : s.waiting()) {
      const auto planned = slots_.find(waiting.job);
      if (waiting.gone || planned == slots_.end() ||
          (planned->second.slot.start >= freed_until &&
           profile_->most_free_before(planned->second.slot.start) < waiting.gpus))
        continue;
      const Planned old = std::move(planned->second);
      profile_->give_back(old.slot.gpus, old.slot.start, old.until);
      slots_.erase(planned);
      take_slot(s, waiting.job);
      freed_until = std::max(freed_until, old.until);
    }
  }

  void take_slot(Scheduler& s, JobId id)
  {
    if (!s.allowed(id)) {
      s.blame(id, Cause::quota);
      return;
    }
    const Seconds length = s.expected(id);
    Slot slot = profile_->earliest(s.job(id).gpus, length,
                                   [&](const GpuSet& free) { return s.fit(free, id); });
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
  int node_changes_ = 0;
};

} // namespace

std::unique_ptr<Backfill> conservative()
{
  return std::make_unique<Conservative>();
}

} // namespace foretrain::models::fleet
