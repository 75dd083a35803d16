#include "experiments/fleet/best_interval.hpp"

#include <cmath>

namespace foretrain::experiments {

namespace {

constexpr int kSteps = 4; // each way, by the square root of two

double held_for_work(const std::vector<FleetRun>& runs)
{
  double held = 0, productive = 0;
  for (const FleetRun& run : runs) {
    held += run.result.gpu_time.busy();
    productive += run.result.gpu_time.productive;
  }
  return productive > 0 ? held / productive : models::fleet::kNever.value();
}

} // namespace

double best_interval_scale(const LoadedFleet& fleet,
                           const std::function<std::vector<FleetRun>(const LoadedFleet&)>& simulate)
{
  double best = 1, least = models::fleet::kNever.value();
  for (int step = -kSteps; step <= kSteps; ++step) {
    LoadedFleet tried = fleet;
    tried.interval_scale = std::pow(2, step / 2.0);
    const std::vector<FleetRun> runs = simulate(tried);
    if (runs.empty() || runs.back().result.stopped)
      break;
    if (const double held = held_for_work(runs); held < least) {
      least = held;
      best = tried.interval_scale;
    }
  }
  return best;
}

} // namespace foretrain::experiments
