// Which GPUs are free from when until when, if all jobs take as long as they may.
#pragma once

#include "models/fleet/scheduler.hpp"
#include "models/fleet/span_tree.hpp"

#include <functional>
#include <vector>

namespace foretrain::models::fleet {

struct TimeSpan {
  Seconds from, until;
  bool meets(const TimeSpan& other) const { return from < other.until && other.from < until; }
};

class PlanProfile {
public:
  using Fits = std::function<Allocation(const GpuSet& free, Seconds start)>;

  /// From `now` on these are free, for good.
  PlanProfile(Seconds now, const GpuSet& free) : spans_(now, free) {}

  void take(const Allocation& gpus, TimeSpan time);
  void give_back(const Allocation& gpus, TimeSpan time);
  /// A time at which more may fit, though no other GPUs are free.
  void keep_boundary(Seconds time);
  /// What was before is of no interest any more.
  void pass_to(Seconds now) { spans_.forget_before(now); }
  /// The first time from which what fits stays free for `length`.
  Slot earliest(int gpus, Seconds length, const Fits& fits) const;
  /// The same from about the one time until the other, before the own reservation and as though
  /// that was given back.
  Slot earlier(const Slot& own, TimeSpan starts, int gpus, Seconds length, const Fits& fits) const;
  /// Whether so many GPUs, not always the same ones, are free for `length` at once.
  bool may_start_now(int gpus, Seconds length) const;
  /// Whether so many GPUs, not always the same ones, are free for `length`, or until `start`, from
  /// some time before `start` and in some of the time `freed`: else whoever has a reservation from
  /// there on would get no earlier one by giving it back, if none but these were freed since.
  bool may_fit_before(Seconds start, int gpus, Seconds length, TimeSpan freed) const;
  GpuSet free_throughout(TimeSpan time) const;
  /// Whether some GPU is free at some time.
  bool some_free_in(TimeSpan time) const;

private:
  SpanTree::Id enough_until(SpanTree::Id from, Seconds own_start, int gpus, Seconds length) const;
  void join_equal(SpanTree::Id at);
  void join_equal(SpanTree::Id first, SpanTree::Id last);

  SpanTree spans_;
  std::vector<Seconds> boundaries_; // in order
};

} // namespace foretrain::models::fleet
