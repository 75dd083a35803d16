// What decides which job runs next, and where.
#pragma once

#include "models/fleet/placement.hpp"
#include "sim/base/units.hpp"

#include <string>

namespace foretrain::models::fleet {

enum class Order { fifo, sjf, srtf, las, priority, fair_share };
constexpr auto choices(Order)
{
  return std::to_array<Choice<Order>>({{Order::fifo, "fifo"},
                                       {Order::sjf, "sjf"},
                                       {Order::srtf, "srtf"},
                                       {Order::las, "las"},
                                       {Order::priority, "priority"},
                                       {Order::fair_share, "fair-share"}});
}

enum class Backfilling { none, easy, conservative, recorded };
constexpr auto choices(Backfilling)
{
  return std::to_array<Choice<Backfilling>>({{Backfilling::none, "none"},
                                             {Backfilling::easy, "easy"},
                                             {Backfilling::conservative, "conservative"},
                                             {Backfilling::recorded, "recorded"}});
}

enum class Preemption { none, priority, quantum };
constexpr auto choices(Preemption)
{
  return std::to_array<Choice<Preemption>>({{Preemption::none, "none"},
                                            {Preemption::priority, "priority"},
                                            {Preemption::quantum, "quantum"}});
}

struct Policy {
  std::string name{};
  Order order = Order::fifo;
  Backfilling backfill = Backfilling::none;
  Preemption preemption = Preemption::none;
  int depth = 1000; // waiting jobs, from the first, that conservative backfilling looks at
  bool gang = true; // all GPUs of a job at once; else node by node, as Kubernetes places pods
  Placement placement = Placement::first_fit;
  Seconds quantum{3600};         // after which preemption by quantum chooses again
  Seconds half_life{7 * 86400.}; // of what fair share remembers; Slurm's PriorityDecayHalfLife
};

} // namespace foretrain::models::fleet
