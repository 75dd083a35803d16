#include "models/fleet/backfill.hpp"
#include "models/fleet/running_plan.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace foretrain::models::fleet {

namespace {

// Times during which GPUs were freed that others have not looked at yet, apart from each other.
class FreedTimes {
public:
  void add(TimeSpan time)
  {
    if (time.until <= time.from)
      return;
    std::erase_if(times_, [&](const TimeSpan& other) {
      if (other.until < time.from || time.until < other.from)
        return false;
      time = {std::min(time.from, other.from), std::max(time.until, other.until)};
      return true;
    });
    times_.push_back(time);
  }
  // Those during which nothing is free any more are of no use to anybody.
  void drop_taken(const PlanProfile& plan)
  {
    std::erase_if(times_, [&](const TimeSpan& time) { return !plan.some_free_in(time); });
  }
  bool empty() const { return times_.empty(); }
  bool meet(const TimeSpan& time) const
  {
    return std::any_of(times_.begin(), times_.end(),
                       [&](const TimeSpan& freed) { return freed.meets(time); });
  }
  const std::vector<TimeSpan>& times() const { return times_; }

private:
  std::vector<TimeSpan> times_;
};

class Conservative final : public Backfill {
public:
  void pass(Scheduler& s) override
  {
    if (!plan_ || s.node_changes() != node_changes_)
      plan_again(s);
    now_ = s.now();
    plan_->pass_to(now_);
    if (s.grew() && give_back_early_ends(s))
      move_forward(s);
    bool some_behind = false; // who starts lets them be looked at
    do {
      some_behind = s.some_behind_depth();
      plan_others(s);
    } while (start_due(s) && some_behind);
    blame_later(s);
  }

  // Where those behind a job move after it did, it may begin when nobody ends.
  Seconds next_start() const override
  {
    const auto next = starts_.upper_bound({now_, std::numeric_limits<JobId>::max()});
    return next == starts_.end() ? kNever : next->first;
  }

private:
  struct Planned {
    Slot slot;
    Seconds until;
    TimeSpan time() const { return {slot.start, until}; }
  };
  struct Running {
    Allocation gpus;
    Seconds until;
  };

  bool has_slot(JobId id) const { return id < planned_.size() && planned_[id].slot.start < kNever; }

  // After nodes went or came.
  void plan_again(const Scheduler& s)
  {
    node_changes_ = s.node_changes();
    for (const auto& [start, id] : starts_)
      planned_[id] = {};
    starts_.clear();
    running_.clear();
    freed_ = left_ = {};
    plan_.emplace(running_plan(s));
    for (const Ending& ending : s.endings())
      running_[ending.job] = {s.up_part(s.held(ending.job)), runs_until(s, ending)};
  }

  // Of jobs that have left them before their time; whether there are some.
  bool give_back_early_ends(const Scheduler& s)
  {
    freed_ = std::exchange(left_, {});
    bool early = false;
    std::erase_if(running_, [&](const auto& entry) {
      const Running& ran = entry.second;
      if (!s.held(entry.first).empty())
        return false;
      if (ran.until > s.now()) {
        plan_->give_back(ran.gpus, {s.now(), ran.until});
        freed_.add({s.now(), ran.until});
        early = true;
      }
      return true;
    });
    if (!early)
      left_ = std::exchange(freed_, {});
    return early;
  }

  // In order, each waiting job gives its reservation back and takes the earliest one.
  void move_forward(Scheduler& s)
  {
    for (const Waiting& waiting : s.waiting()) {
      if (freed_.empty())
        break;
      if (waiting.gone || !has_slot(waiting.job))
        continue;
      const Planned old = planned_[waiting.job];
      Slot slot = s.allowed(waiting.job) ? again(s, waiting, old) : Slot{};
      if (slot == old.slot)
        continue;
      give_up(waiting.job);
      if (slot.start < kNever)
        take(s, waiting.job, std::move(slot));
      else
        s.blame(waiting.job, Cause::quota);
      left_.add(old.time()); // others may take it, also those before the next time
      freed_.add(old.time());
      freed_.drop_taken(*plan_);
    }
    left_.drop_taken(*plan_);
  }

  // What a job would take that gives its reservation back: the same where nothing was freed since
  // it took that.
  Slot again(const Scheduler& s, const Waiting& waiting, const Planned& own) const
  {
    const Seconds length = s.expected(waiting.job);
    TimeSpan starts{kNever, Seconds(0)}; // of windows in which something was freed
    for (const TimeSpan& freed : freed_.times())
      if (plan_->may_fit_before(own.slot.start, waiting.gpus, length, freed))
        starts = {std::min(starts.from, freed.from - length),
                  std::max(starts.until, std::min(freed.until, own.slot.start))};
    if (Slot slot = earlier_in(*plan_, s, waiting.job, own.slot, starts); slot.start < kNever)
      return slot;
    if (!freed_.meet(own.time()))
      return own.slot;
    GpuSet free = plan_->free_throughout(own.time());
    if (free.count() == 0)
      return own.slot;
    free.add(own.slot.gpus);
    return {own.slot.start, s.place_at(free, waiting.job, own.slot.start)};
  }

  void give_up(JobId id)
  {
    const Planned old = std::exchange(planned_[id], {});
    starts_.erase({old.slot.start, id});
    plan_->give_back(old.slot.gpus, old.time());
  }

  // Those that came, or could have no reservation.
  void plan_others(Scheduler& s)
  {
    std::vector<JobId> others;
    for (std::size_t i = s.depth_end(); i > 0 && others.size() + starts_.size() < s.count_waiting();
         --i)
      if (const Waiting& waiting = s.waiting()[i - 1]; !waiting.gone && !has_slot(waiting.job))
        others.push_back(waiting.job);
    std::for_each(others.rbegin(), others.rend(), [&](JobId id) { take_slot(s, id); });
    for (const JobId id : s.arrived())
      if (!has_slot(id) && s.cause(id) == Cause::nothing)
        s.blame(id, Cause::depth);
  }

  void take_slot(Scheduler& s, JobId id)
  {
    if (!s.allowed(id)) {
      s.blame(id, Cause::quota);
      return;
    }
    if (Slot slot = earliest_in(*plan_, s, id); slot.start < kNever)
      take(s, id, std::move(slot));
  }

  void take(Scheduler& s, JobId id, Slot slot)
  {
    const Seconds until = slot.start + s.expected(id);
    plan_->take(slot.gpus, {slot.start, until});
    starts_.insert({slot.start, id});
    if (id >= planned_.size())
      planned_.resize(id + 1);
    planned_[id] = {std::move(slot), until};
  }

  // Those that start later, when those that start now have their GPUs.
  void blame_later(Scheduler& s) const
  {
    for (const Waiting& waiting : s.waiting())
      if (!waiting.gone && has_slot(waiting.job) && planned_[waiting.job].slot.start > s.now())
        blame_plan(s, waiting.job);
  }

  // Whether somebody started.
  bool start_due(Scheduler& s)
  {
    if (starts_.empty() || starts_.begin()->first > s.now())
      return false;
    bool started = false;
    for (Waiting& waiting : s.waiting()) {
      if (waiting.gone || !has_slot(waiting.job) || planned_[waiting.job].slot.start > s.now())
        continue;
      if (!s.allowed(waiting.job)) {
        s.blame(waiting.job, Cause::quota);
        continue;
      }
      Planned& due = planned_[waiting.job];
      if (!s.free().contains(due.slot.gpus)) { // somebody is overdue
        plan_.reset();
        s.blame(waiting.job, Cause::gpus);
        return false;
      }
      s.start(waiting, due.slot.gpus);
      started = true;
      starts_.erase({due.slot.start, waiting.job});
      running_[waiting.job] = {std::move(due.slot.gpus), due.until};
      due = {};
    }
    return started;
  }

  std::optional<PlanProfile> plan_;
  std::vector<Planned> planned_;               // by job; of those that wait
  std::set<std::pair<Seconds, JobId>> starts_; // of them
  std::map<JobId, Running> running_;
  Seconds now_{};
  FreedTimes freed_;
  FreedTimes left_; // by reservations that moved, and not seen yet by those before them
  int node_changes_ = 0;
};

} // namespace

std::unique_ptr<Backfill> conservative()
{
  return std::make_unique<Conservative>();
}

} // namespace foretrain::models::fleet
