// Jobs that came and did not end: how far each is, at which rate it goes on beside those it meets,
// and what happens to it next at that rate.
#pragma once

#include "models/fleet/active.hpp"
#include "models/fleet/events.hpp"
#include "models/fleet/scheduler.hpp"
#include "models/fleet/setting.hpp"

#include <cstdint>
#include <vector>

namespace foretrain::models::fleet {

class ActiveJobs {
public:
  /// All of them must outlive this; `events` gets what happens to jobs next.
  ActiveJobs(const Workload& workload, const FleetSetting& setting, Scheduler& scheduler,
             Events& events);

  Active& operator[](JobId id) { return actives_[slot_[id]]; }
  const Active& operator[](JobId id) const { return actives_[slot_[id]]; }
  bool has(JobId id) const { return slot_[id] != kNone; }
  bool runs(JobId id) const { return (*this)[id].runs(); }
  void add(JobId id);
  void remove(JobId id);
  const Checkpointing& checkpointing(JobId id) const;

  /// An event that is out of date when something else happens to the job first.
  void push(Happens what, JobId id, Seconds time) { events_.push({time, what, id, version_[id]}); }
  /// What was to happen to it is out of date.
  void forget_events(JobId id) { ++version_[id]; }
  bool out_of_date(const Event& event) const;

  /// Its work until now.
  void bring_up_to_date(JobId id);
  /// It holds GPUs from now on, and works from `ready` on; rates are due.
  void begin(JobId id, Seconds ready);
  /// Its write or read begins or ends; rates are due.
  void turn(JobId id);
  /// From now on its data come out of caches, as far as these hold them; rates are due.
  void set_read(JobId id);
  /// It works no more, and others may find other rates when these are due.
  void left() { left_ = true; }
  /// What happens to it next is not what was expected.
  void plan_again(JobId id);
  /// Jobs for which rates are due, and those that lost or found others that they meet, get theirs.
  void change_rates();

private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  const Job& job(JobId id) const { return workload_.jobs[id]; }
  Placed placed(JobId id) const;
  void find_uses(JobId id);
  void plan_ends(JobId id);
  void set_rates();
  void set_rates(const std::vector<Placed>& jobs);
  double transfer_rate_apart(JobId id) const;

  const Workload& workload_;
  const FleetSetting& setting_;
  Scheduler& scheduler_;
  Events& events_;
  std::vector<std::uint32_t> version_, slot_; // by job
  std::vector<Active> actives_;
  std::vector<std::uint32_t> unused_;
  std::vector<JobId> changed_; // rates are due
  bool left_ = false;
};

} // namespace foretrain::models::fleet
