// Seeds of a fleet in processes of their own, several at a time.
#pragma once

#include "experiments/fleet/fleet.hpp"

#include <functional>
#include <vector>

namespace foretrain::experiments {

/// What a seed, by its index, takes.
class SeedWork {
public:
  SeedWork() = default;
  SeedWork(const SeedWork&) = delete;
  SeedWork& operator=(const SeedWork&) = delete;
  virtual ~SeedWork() = default;

  /// A run with its jobs.
  virtual FleetRun prepare(int index) const = 0;
  /// What becomes of them.
  virtual void simulate(FleetRun& run, int index) const = 0;
};

/// The runs of the seeds from `first` to before `count`, in up to `jobs` processes. One whose
/// process ends without a result is simulated here. What children learn of speeds the table knows
/// afterwards. After Ctrl-C those that are done, the last one marked as stopped; `progress` hears
/// how many are, with those before.
std::vector<FleetRun> run_seeds(int first, int count, int jobs, SpeedTable& table,
                                const SeedWork& seeds, const std::function<void(int)>& progress);

} // namespace foretrain::experiments
