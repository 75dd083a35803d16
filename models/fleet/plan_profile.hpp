// Which GPUs are free from when until when, if all jobs take as long as they may.
#pragma once

#include "models/fleet/scheduler.hpp"

#include <functional>
#include <vector>

namespace foretrain::models::fleet {

class PlanProfile {
public:
  using Fits = std::function<Allocation(const GpuSet& free, Seconds start)>;

  /// From `now` on these are free, for good.
  PlanProfile(Seconds now, const GpuSet& free);

  void take(const Allocation& gpus, Seconds from, Seconds until);
  void give_back(const Allocation& gpus, Seconds from, Seconds until);
  /// A time at which more may fit, though no other GPUs are free.
  void keep_boundary(Seconds time);
  /// What was before is of no interest any more.
  void pass_to(Seconds now);
  /// The first time from which what fits stays free for `length`.
  Slot earliest(int gpus, Seconds length, const Fits& fits) const;
  /// Whether so many GPUs, not always the same ones, are free for `length`, or until `start`, from
  /// some time before `start`: else whoever has a reservation from there on would get no earlier
  /// one by giving it back.
  bool may_fit_before(Seconds start, int gpus, Seconds length) const;

private:
  std::size_t split(Seconds time);
  void join_equal(std::size_t at);
  std::size_t first_short(std::size_t from, int gpus, Seconds until) const;

  // Spans of time, each until the next one begins, the last for ever.
  std::vector<Seconds> starts_;
  std::vector<GpuSet> free_;
  std::vector<int> counts_;         // of free GPUs
  std::vector<Seconds> boundaries_; // in order
};

} // namespace foretrain::models::fleet
