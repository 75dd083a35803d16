#include "experiments/answers/compare.hpp"

#include "experiments/cli/experiment_arguments.hpp"
#include "experiments/cli/fleet_run.hpp"
#include "experiments/fleet/fleet_compare.hpp"
#include "experiments/report/report_compare.hpp"
#include "experiments/spec/file_kind.hpp"
#include "sim/base/error.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text.hpp"

#include <unistd.h>

#include <filesystem>
#include <iostream>

namespace foretrain::cli {

namespace {

using namespace experiments;

struct CompareArguments {
  ExperimentArguments of_a; // with the options of both
  std::string b;
  std::vector<std::string> set_a, set_b, where_a, where_b;
  CompareOptions options;
  CLI::Option* below = nullptr;
  CLI::Option* above = nullptr;
  double fail_below = 0;
  double fail_above = 0;
  int seeds = 1;
  const CLI::Option* seeds_given = nullptr;
};

std::string kind_text(SideKind kind)
{
  return kind == SideKind::fleet        ? "a fleet"
         : kind == SideKind::experiment ? "an experiment"
                                        : "a result";
}

FleetFile load_fleet_side(const CompareArguments& a, const std::string& file,
                          const std::vector<std::string>& set)
{
  std::vector<std::string> overrides = a.of_a.set;
  overrides.insert(overrides.end(), set.begin(), set.end());
  return load_fleet_file(file, overrides, "");
}

int compare_two_fleets(const CompareArguments& a, const CLI::App& app)
{
  refuse_options_of_experiments(app);
  const FleetFile file_a = load_fleet_side(a, a.of_a.file, a.set_a);
  const FleetFile file_b = load_fleet_side(a, a.b, a.set_b);
  FleetSeeds given;
  if (a.of_a.seed_given->count() > 0)
    given.seed = a.of_a.seed;
  given.seeds = a.seeds_given->count() > 0 ? a.seeds
                                           : std::max(file_a.points.front().fleet.spec.seeds,
                                                      file_b.points.front().fleet.spec.seeds);
  const FleetOptions options = fleet_options(file_a.points, given);
  const FleetSide side_a{a.of_a.file, run_with_bar(file_a.points, options)};
  const FleetSide side_b{a.b, run_with_bar(file_b.points, options)};
  const FleetComparison answer = compare_fleets(side_a, side_b, a.where_a, a.where_b);
  if (a.of_a.format == "json")
    std::cout << written(answer).dump(2) << "\n";
  else if (a.of_a.format == "csv")
    std::cout << fleet_comparison_csv(answer);
  else
    std::cout << fleet_comparison_table(answer);
  return done;
}

struct LoadedSide {
  CompareSide side;
  int status = done;
};

LoadedSide load_side(ExperimentArguments arguments, const std::vector<std::string>& set,
                     const std::vector<std::string>& where)
{
  LoadedSide loaded;
  const SideKind kind = kind_of_side(arguments.file);
  if (kind != SideKind::experiment && (!set.empty() || !arguments.set.empty()))
    throw UsageError("'" + arguments.file + "' holds results: --set changes experiments only");
  if (kind == SideKind::result) {
    loaded.side = side_of_result(arguments.file);
  } else if (kind == SideKind::store) {
    loaded.side = side_of_store(arguments.file);
  } else {
    arguments.set.insert(arguments.set.end(), set.begin(), set.end());
    const LoadedExperiment experiment = load(arguments);
    const Prediction prediction = cli::run(experiment, options_of(arguments, experiment));
    tell_errors(prediction);
    loaded.status = prediction.errors.empty() ? done : prediction.status;
    const bool nameless = arguments.file == "-" || is_descriptor(arguments.file);
    loaded.side = side_of_prediction(experiment, prediction.result,
                                     nameless ? experiment.spec.name : arguments.file);
  }
  if (loaded.side.points.empty() && loaded.status == done)
    throw UsageError("'" + arguments.file + "' holds no finished points");
  keep_where(loaded.side, where);
  return loaded;
}

int run_compare(CompareArguments a, const CLI::App& app)
{
  const SideKind kind_a = kind_of_side(a.of_a.file), kind_b = kind_of_side(a.b);
  const bool fleets = kind_a == SideKind::fleet || kind_b == SideKind::fleet;
  // Beside a fleet a word that is nothing known is a fleet misspelt: its reader says what is meant.
  const auto other = [](const std::string& word, SideKind kind) {
    std::error_code ignored;
    return kind != SideKind::fleet &&
           (!kind_of_named(word).empty() || std::filesystem::exists(word, ignored));
  };
  if (fleets && (other(a.of_a.file, kind_a) || other(a.b, kind_b)))
    throw UsageError("'" + excerpt(a.of_a.file, 200) + "' is " + kind_text(kind_a) + ", and '" +
                     excerpt(a.b, 200) + "' is " + kind_text(kind_b) +
                     ": a fleet is compared with a fleet");
  if (fleets)
    return compare_two_fleets(a, app);
  if (a.seeds_given->count() > 0)
    throw UsageError("--seeds is for fleets, and these are experiments");
  if (a.below->count() > 0)
    a.options.fail_below = a.fail_below;
  if (a.above->count() > 0)
    a.options.fail_above = a.fail_above;
  a.options.interval = a.of_a.interval;
  ExperimentArguments of_b = a.of_a;
  of_b.file = a.b;
  const LoadedSide side_a = load_side(a.of_a, a.set_a, a.where_a);
  const LoadedSide side_b = load_side(of_b, a.set_b, a.where_b);
  if (const int status = std::max(side_a.status, side_b.status); status != done)
    return status;
  const CompareAnswer answer = compare(side_a.side, side_b.side, a.options);
  if (a.of_a.format == "json")
    std::cout << written(answer).dump(2) << "\n";
  else if (a.of_a.format == "csv")
    std::cout << compare_csv(answer);
  else
    std::cout << report_compare(answer, {110, isatty(STDOUT_FILENO) == 1});
  std::cout.flush();
  return answer.broken ? violated : done;
}

} // namespace

std::function<int()> compare(CLI::App& app)
{
  const auto a = std::make_shared<CompareArguments>();
  app.add_option("A", a->of_a.file,
                 "experiment, result.json (or its directory), file of a sweep, or fleet")
      ->required();
  app.add_option("B", a->b, "the same, to compare with A")->required();
  add_run_options(app, a->of_a);
  app.add_option("--set-a", a->set_a, "POINTER=VALUE: change a value of A only");
  app.add_option("--set-b", a->set_b, "POINTER=VALUE: change a value of B only");
  app.add_option("--where-a", a->where_a, "POINTER=VALUE: only points of A with this setting");
  app.add_option("--where-b", a->where_b, "POINTER=VALUE: only points of B with this setting");
  a->below = app.add_option("--fail-below", a->fail_below,
                            "exit 1 where B's throughput over A's is below this ratio")
                 ->check(CLI::PositiveNumber);
  a->above = app.add_option("--fail-above", a->fail_above,
                            "exit 1 where B's throughput over A's is above this ratio")
                 ->check(CLI::PositiveNumber);
  app.add_option("--confidence", a->options.confidence,
                 "probability with which a bound must be broken; default 0.9")
      ->check(CLI::Range(0.5, 0.99999));
  a->seeds_given =
      app.add_option("--seeds", a->seeds,
                     "of fleets: how often each is simulated; default the more of the two files'")
          ->check(CLI::Range(1, 10000));
  return [a, &app] { return run_compare(*a, app); };
}

} // namespace foretrain::cli
