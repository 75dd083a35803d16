// Seeds of a fleet: here, or in processes of their own, several at a time.
#pragma once

#include "experiments/fleet/kept_seeds.hpp"

#include <functional>
#include <string>
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
  /// What its result is kept under; "": it is not.
  virtual std::string name(int index) const = 0;
};

/// Where seeds come from.
struct SeedRunner {
  const SeedWork& seeds;
  SpeedTable& table;
  KeptSeeds* kept = nullptr; // null: every one is simulated

  /// One, in this process; simulated unless it is kept.
  FleetRun run(int index) const;
  /// Several, in up to `jobs` processes. One whose process ends without a result is simulated
  /// here. What children learn of speeds the table knows afterwards. After Ctrl-C those that are
  /// done, the last one marked as stopped; `progress` hears how many are.
  std::vector<FleetRun> run(const std::vector<int>& indices, int jobs,
                            const std::function<void(int)>& progress) const;

private:
  std::optional<models::fleet::FleetResult> find(int index) const;
  // What a seed brings that is simulated, and what it has learnt of speeds.
  std::pair<FleetRun, Situations> simulated(int index) const;
};

} // namespace foretrain::experiments
