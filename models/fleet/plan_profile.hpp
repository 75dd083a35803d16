// Which GPUs are free from when until when, if all jobs take as long as they may.
#pragma once

#include "models/fleet/scheduler.hpp"

#include <functional>
#include <vector>

namespace foretrain::models::fleet {

class PlanProfile {
public:
  using Fits = std::function<Allocation(const GpuSet& free)>;

  /// From `now` on these are free, for good.
  PlanProfile(Seconds now, const GpuSet& free);

  void take(const Allocation& gpus, Seconds from, Seconds until);
  void give_back(const Allocation& gpus, Seconds from, Seconds until);
  /// What was before is of no interest any more.
  void pass_to(Seconds now);
  /// The first time from which what fits stays free for `length`.
  Slot earliest(int gpus, Seconds length, const Fits& fits) const;
  /// The most GPUs that are free at some time before.
  int most_free_before(Seconds time) const;

private:
  struct Span {
    Seconds start; // until that of the next one, or for ever
    GpuSet free;
  };

  std::size_t split(Seconds time);
  void note_most();

  std::vector<Span> spans_;
  std::vector<int> most_; // of free GPUs in each span and those before it
};

} // namespace foretrain::models::fleet
