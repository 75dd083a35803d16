// Where the time of a step of a work program went.
//
// Every rank's step is cut along its first stream. Time in which an operation runs there belongs to
// the operation's phase. Time in which nothing runs belongs to what the next operation waited for:
// an exchange in motion (exposed), another pipeline stage that had not sent yet (bubble), another
// rank of a group that had not arrived yet (straggler), host work, input. All shares of a rank add
// up to the step; reported is the mean over the devices that ranks stand for.
#pragma once

#include "sim/workload/step_dates.hpp"

#include <array>

namespace foretrain::sim {

struct StepShares {
  std::array<Seconds, kPhases> busy{};    // kernels, by phase
  std::array<Seconds, kPhases> exposed{}; // exchanges while the device does nothing, by phase
  Seconds bubble;
  Seconds straggler;
  Seconds input;
  Seconds offload;
  Seconds framework;

  Seconds total() const;
  void add(const StepShares& other, double weight = 1);
};

/// Of a step that took from `start` to `end`. `mean_speed`, of each rank: what a device that it
/// stands for takes for its kernels on average, relative to the slowest one, whose dates these are;
/// the others wait for that one.
StepShares shares_of(const StepDates& dates, Seconds start, Seconds end,
                     const std::vector<double>& mean_speed);

} // namespace foretrain::sim
