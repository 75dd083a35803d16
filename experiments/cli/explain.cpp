#include "experiments/answers/explain.hpp"

#include "experiments/cli/experiment_arguments.hpp"
#include "experiments/cli/progress.hpp"
#include "experiments/report/report_explain.hpp"
#include "sim/base/error.hpp"

#include <unistd.h>

#include <iostream>

#include <fmt/format.h>

namespace foretrain::cli {

namespace {

using namespace experiments;

struct ExplainArguments {
  ExperimentArguments experiment;
  int point = -1;
  bool html = false;
  bool no_swaps = false;
};

int run_explain(const ExplainArguments& a)
{
  const LoadedExperiment experiment = load(a.experiment);
  const auto last = static_cast<int>(experiment.points.size()) - 1;
  if (a.point > last)
    throw UsageError(
        fmt::format("--point must be 0 to {}: points count from 0, got {}", last, a.point));
  ExplainOptions options;
  options.run = run_options(options_of(a.experiment, experiment), 1);
  options.swaps = !a.no_swaps;
  ProgressBar bar("runs");
  options.progress = [&bar](int finished, int total) { bar.show(finished, total); };
  const Explanation answer =
      explain(experiment, static_cast<std::size_t>(a.point < 0 ? last : a.point), options);
  bar.clear();
  if (a.html)
    std::cout << explain_html(answer);
  else if (a.experiment.format == "json")
    std::cout << written(answer).dump(2) << "\n";
  else
    std::cout << report_explain(answer, {110, isatty(STDOUT_FILENO) == 1});
  std::cout.flush();
  return done;
}

} // namespace

std::function<int()> explain(CLI::App& app)
{
  const auto a = std::make_shared<ExplainArguments>();
  app.add_option("EXPERIMENT", a->experiment.file, "experiment file, or the name of a bundled one")
      ->required();
  add_run_options(app, a->experiment, {"table", "json"});
  app.add_option("--point", a->point,
                 "which point of the sweep, counted from 0; default: the last one")
      ->check(not_negative);
  app.add_flag("--html", a->html, "print a page instead of a table");
  app.add_flag("--no-swaps", a->no_swaps, "leave out other choices of software and storage");
  return [a] { return run_explain(*a); };
}

} // namespace foretrain::cli
