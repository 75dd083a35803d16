// All points of a fleet's sweep, simulated with the same seeds.
#pragma once

#include "experiments/fleet/fleet_answer.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace foretrain::experiments {

/// What the simulations of a point say: all of them together, and each by itself.
struct FleetPointRun {
  const FleetPoint* point;
  FleetAnswer answer;
  std::vector<FleetAnswer> by_seed; // in the order of the seeds
  std::vector<double> all_wait_p90; // by seed, seconds: of all jobs, infinite of those never run
};

FleetPointRun point_run(const FleetPoint& point, const std::vector<FleetRun>& runs);

/// As the options say, but for history. Interrupted: the points so far. The progress counts seeds
/// over all points.
std::vector<FleetPointRun> run_fleet_points(const std::vector<FleetPoint>& points,
                                            const FleetOptions& options);

/// The part's seeds of all points, for what they leave in `options.kept`; seeds of one point follow
/// those of the point before.
void run_fleet_part(const std::vector<FleetPoint>& points, const FleetOptions& options);

struct FleetPointAnswer {
  Settings settings;
  FleetAnswer answer;
};

struct FleetSweepAnswer {
  std::string fleet;
  std::string version;
  std::uint64_t seed = 1;
  int seeds = 1;
  bool interrupted = false;
  std::vector<FleetPointAnswer> points;
};

/// Of at least one point.
FleetSweepAnswer fleet_sweep_answer(const FleetFile& file,
                                    const std::vector<FleetPointRun>& points);

template <class V>
void describe(V& v, FleetPointAnswer& s)
{
  v.required("settings", s.settings, "of the point: pointer and value");
  describe(v, s.answer);
}

template <class V>
void describe(V& v, FleetSweepAnswer& s)
{
  v.required("fleet", s.fleet, "its name");
  v.required("version", s.version, "of foretrain");
  v.required("seed", s.seed, "the first");
  v.required("seeds", s.seeds, "how often each point was simulated: all with the same seeds");
  v.optional("interrupted", s.interrupted, "it was stopped before its end", {}, s.interrupted);
  v.required("points", s.points, "one for each combination of the sweep, in its order");
}

} // namespace foretrain::experiments
