#include "experiments/answers/tune.hpp"
#include "experiments/cli/experiment_arguments.hpp"
#include "experiments/run/simulate/anchor_runs.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"

#include <filesystem>
#include <iostream>

namespace foretrain::cli {

namespace {

struct TuneArguments {
  std::string experiment;
  std::vector<std::string> overrides;
  int top = 10;
  std::string format = "table";
  std::string out;
};

} // namespace

std::function<int()> tune(CLI::App& app)
{
  const auto a = std::make_shared<TuneArguments>();
  app.add_option("EXPERIMENT", a->experiment, "an experiment whose job is a transformer's")
      ->required();
  app.add_option("--set", a->overrides, "POINTER=VALUE: change the experiment");
  app.add_option("--top", a->top, "how many plans to show")->check(CLI::Range(1, 1000));
  app.add_option("--format", a->format, "table or json")->check(CLI::IsMember({"table", "json"}));
  app.add_option("--out", a->out, "file for the experiment with the best plan");
  return [a] {
    const auto experiment = experiments::load_experiment(a->experiment, a->overrides);
    const experiments::RunOptions options;
    const experiments::Point point =
        experiments::with_kernel_times(experiments::only_point(experiment), options);
    const auto answer = experiments::tune(point, a->top, options);
    if (!a->out.empty() && answer.best.empty())
      throw UsageError("--out has no experiment to write: no plan fits");
    if (!a->out.empty())
      write_file(a->out,
                 experiments::tuned_experiment(point, answer.best.front(),
                                               std::filesystem::path(a->out).parent_path().string())
                         .dump(2) +
                     "\n");
    std::cout << (a->format == "json" ? written(answer).dump(2) + "\n"
                                      : experiments::tune_text(answer));
    return static_cast<int>(done);
  };
}

} // namespace foretrain::cli
