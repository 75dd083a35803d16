#include "experiments/cli/fleet_run.hpp"

#include "experiments/cli/progress.hpp"
#include "sim/base/error.hpp"

#include <csignal>

namespace foretrain::cli {

namespace {

using namespace experiments;

volatile std::sig_atomic_t stop_asked = 0;

// Shows how far simulations are, until it is gone.
class FleetWatch {
public:
  FleetWatch(FleetOptions& options, std::size_t points)
      : all_(options.seeds * static_cast<double>(points)),
        before_(std::signal(SIGINT, [](int) { stop_asked = 1; }))
  {
    options.progress = [this](int seeds, std::size_t ended, std::size_t jobs) {
      const double part = jobs > 0 ? static_cast<double>(ended) / static_cast<double>(jobs) : 1;
      bar_.show(static_cast<int>(100 * (seeds + part) / all_), 100);
      return stop_asked == 0;
    };
  }
  ~FleetWatch() { std::signal(SIGINT, before_ == SIG_IGN ? SIG_IGN : &next_one_ends); }
  FleetWatch(const FleetWatch&) = delete;
  FleetWatch& operator=(const FleetWatch&) = delete;

private:
  // What is done becomes an answer, whoever asks to stop now; who asks again ends that, too.
  static void next_one_ends(int) { std::signal(SIGINT, SIG_DFL); }

  double all_; // seeds of all points
  void (*before_)(int);
  ProgressBar bar_{"% of jobs"};
};

} // namespace

FleetOptions fleet_options(const std::vector<FleetPoint>& points, const FleetSeeds& given)
{
  FleetOptions options = options_of(points.front().fleet.spec);
  options.seed = given.seed.value_or(options.seed);
  options.seeds = given.seeds.value_or(options.seeds);
  options.jobs = given.jobs.value_or(cores());
  return options;
}

void refuse_options_of_experiments(const CLI::App& app)
{
  for (const char* name : {"--profile", "--fidelity", "--uncertainty", "--samples", "--interval",
                           "--fail-below", "--fail-above", "--confidence"})
    if (const CLI::Option* option = app.get_option_no_throw(name);
        option != nullptr && option->count() > 0)
      throw UsageError(std::string(name) + " is for experiments, and this is a fleet");
}

std::vector<FleetRun> run_with_bar(const LoadedFleet& fleet, FleetOptions options)
{
  const FleetWatch watch(options, 1);
  return run_fleet(fleet, options);
}

std::vector<FleetPointRun> run_with_bar(const std::vector<FleetPoint>& points, FleetOptions options)
{
  const FleetWatch watch(options, points.size());
  return run_fleet_points(points, options);
}

} // namespace foretrain::cli
