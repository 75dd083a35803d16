#include "experiments/fleet/fleet_points.hpp"

#include "sim/base/version.hpp"

namespace foretrain::experiments {

FleetPointRun point_run(const FleetPoint& point, const std::vector<FleetRun>& runs)
{
  FleetPointRun one{&point, fleet_answer(point.fleet, runs), {}, {}};
  for (const FleetRun& run : runs) {
    one.by_seed.push_back(fleet_answer(point.fleet, {&run, 1}));
    one.all_wait_p90.push_back(wait_p90_of_all(run));
  }
  return one;
}

std::vector<FleetPointRun> run_fleet_points(const std::vector<FleetPoint>& points,
                                            const FleetOptions& options)
{
  SpeedTables tables;
  std::vector<FleetPointRun> done;
  for (const FleetPoint& point : points) {
    FleetOptions of_point = options;
    if (options.progress)
      of_point.progress = [&](int seeds, std::size_t ended, std::size_t jobs) {
        return options.progress(static_cast<int>(done.size()) * options.seeds + seeds, ended, jobs);
      };
    of_point.history = false;
    done.push_back(point_run(point, run_fleet(point.fleet, of_point, tables)));
    if (done.back().answer.interrupted)
      break;
  }
  return done;
}

void run_fleet_part(const std::vector<FleetPoint>& points, const FleetOptions& options)
{
  SpeedTables tables;
  std::size_t before = 0; // seeds of points before
  for (const FleetPoint& point : points) {
    FleetOptions of_point = options;
    of_point.history = points.size() == 1 && options.history;
    const std::size_t count = options.part.count;
    of_point.part.index = (options.part.index + count - before % count) % count;
    before += static_cast<std::size_t>(options.seeds);
    if (const auto runs = run_fleet(point.fleet, of_point, tables);
        !runs.empty() && runs.back().result.stopped) // Ctrl-C
      return;
  }
}

FleetSweepAnswer fleet_sweep_answer(const FleetFile& file, const std::vector<FleetPointRun>& points)
{
  FleetSweepAnswer answer;
  answer.fleet = file.name;
  answer.version = version();
  answer.seed = points.front().answer.seed;
  answer.seeds = points.front().answer.seeds;
  answer.interrupted = points.back().answer.interrupted;
  for (const FleetPointRun& run : points)
    answer.points.push_back({run.point->settings, run.answer});
  return answer;
}

} // namespace foretrain::experiments
