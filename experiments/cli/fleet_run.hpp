// What the commands share that simulate fleets: progress, Ctrl-C, seeds.
#pragma once

#include "experiments/cli/command.hpp"
#include "experiments/fleet/fleet_points.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace foretrain::cli {

/// The first seed and how many: as given, else as the file says. How many at a time: else one per
/// core.
struct FleetSeeds {
  std::optional<std::uint64_t> seed;
  std::optional<int> seeds, jobs;
};
experiments::FleetOptions fleet_options(const std::vector<experiments::FleetPoint>& points,
                                        const FleetSeeds& given);

/// Throws UsageError for an option that was given and says nothing about fleets.
void refuse_options_of_experiments(const CLI::App& app);

/// Simulates with a bar on a terminal. Ctrl-C stops it; what has happened so far is kept.
std::vector<experiments::FleetRun> run_with_bar(const experiments::LoadedFleet& fleet,
                                                experiments::FleetOptions options);
std::vector<experiments::FleetPointRun>
run_with_bar(const std::vector<experiments::FleetPoint>& points, experiments::FleetOptions options);

} // namespace foretrain::cli
