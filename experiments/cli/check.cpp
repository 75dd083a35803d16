#include "experiments/answers/check.hpp"

#include "experiments/cli/experiment_arguments.hpp"
#include "experiments/cli/fleet_run.hpp"
#include "experiments/cli/progress.hpp"
#include "experiments/fleet/fleet_expectations.hpp"
#include "experiments/report/report_check.hpp"
#include "experiments/spec/file_kind.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"

#include <unistd.h>

#include <chrono>
#include <iostream>

namespace foretrain::cli {

namespace {

using namespace experiments;

struct CheckArguments {
  ExperimentArguments run; // the file is not used
  std::vector<std::string> paths;
  std::string junit;
  std::string baseline;
  bool update = false;
  CheckOptions options;
};

void check_experiment(const CheckArguments& a, CheckedFile& checked)
{
  ExperimentArguments arguments = a.run;
  arguments.file = checked.file;
  const LoadedExperiment experiment = load(arguments);
  checked.experiment = experiment.spec.name;
  const Prediction prediction = cli::run(experiment, options_of(arguments, experiment));
  checked.cases = check(experiment, prediction, a.options);
  if (a.update && prediction.errors.empty())
    write_file(baseline_file(a.baseline, experiment.spec.name),
               written(prediction.result).dump(2) + "\n");
}

void check_fleet_file(const CheckArguments& a, CheckedFile& checked)
{
  const FleetFile file = load_fleet_file(checked.file, a.run.set, "");
  checked.experiment = file.name;
  FleetSeeds given;
  if (a.run.seed_given->count() > 0)
    given.seed = a.run.seed;
  const auto runs = run_with_bar(file.points, fleet_options(file.points, given));
  checked.cases.push_back({"run", CheckState::passed, "", ""});
  if (runs.back().answer.interrupted)
    checked.cases.back() = {"run", CheckState::error, "was interrupted", ""};
  for (const JudgedExpectation& it : judged_fleet_expectations(file, runs))
    checked.cases.push_back(case_of(it, *file.document, a.options));
}

CheckedFile check_file(const CheckArguments& a, const std::string& path)
{
  const auto start = std::chrono::steady_clock::now();
  CheckedFile checked{path, path, {}, 0};
  try {
    if (kind_of_named(path) == "fleet") {
      check_fleet_file(a, checked);
    } else {
      check_experiment(a, checked);
    }
  } catch (const ConfigError& error) {
    checked.cases.push_back({"load", CheckState::error, error.what(), ""});
  } catch (const UsageError& error) {
    checked.cases.push_back({"load", CheckState::error, error.what(), ""});
  }
  checked.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return checked;
}
int run_check(CheckArguments a)
{
  if (a.update && a.baseline.empty())
    throw UsageError("--update-baseline needs --baseline DIR for its files");
  if (a.update)
    make_directory(a.baseline, "--baseline");
  else if (!a.baseline.empty())
    a.options.baseline = a.baseline;
  std::vector<CheckedFile> files;
  const auto paths = experiments_below(a.paths);
  ProgressBar bar("experiments");
  for (const std::string& path : paths) {
    files.push_back(check_file(a, path));
    bar.show(static_cast<int>(files.size()), static_cast<int>(paths.size()));
  }
  bar.clear();
  const Json summary = check_json(files);
  if (!a.junit.empty())
    write_file(a.junit, check_junit(files));
  if (a.run.format == "json")
    std::cout << summary.dump(2) << "\n";
  else if (a.run.format == "tap")
    std::cout << check_tap(files);
  else if (a.run.format == "github")
    std::cout << check_github(files);
  else
    std::cout << check_table(files, {110, isatty(STDOUT_FILENO) == 1});
  std::cout.flush();
  return summary.at("errors") > 0 ? wrong_input : summary.at("failed") > 0 ? violated : done;
}

} // namespace

std::function<int()> check(CLI::App& app)
{
  const auto a = std::make_shared<CheckArguments>();
  app.add_option("PATH", a->paths, "experiments and fleets, or directories that hold some")
      ->required();
  app.add_option("--junit", a->junit, "write JUnit XML into this file, too");
  app.add_option("--baseline", a->baseline,
                 "directory of stored results: throughput must not fall below them");
  app.add_flag("--update-baseline", a->update,
               "write what is predicted now into that directory instead of comparing with it");
  app.add_option("--tolerance", a->options.tolerance,
                 "part of a baseline's throughput that may be lost; default 0.05")
      ->check(CLI::Range(0.0, 0.99));
  app.add_option("--confidence", a->options.confidence,
                 "probability with which something must be violated to fail; default 0.9")
      ->check(CLI::Range(0.5, 0.99999));
  app.add_flag("--strict", a->options.strict, "what is too close to tell fails, too");
  add_run_options(app, a->run, {"table", "json", "tap", "github"});
  return [a] { return run_check(*a); };
}

} // namespace foretrain::cli
