#include "experiments/cli/experiment_arguments.hpp"
#include "sim/base/error.hpp"

namespace foretrain::cli {

namespace {

struct PredictArguments {
  ExperimentArguments experiment;
  bool trace = false;
};

} // namespace

std::function<int()> predict(CLI::App& app)
{
  const auto a = std::make_shared<PredictArguments>();
  add_experiment_options(app, a->experiment);
  app.add_flag("--trace", a->trace,
               "write a Chrome/Perfetto timeline of one step per point into --out");
  return [a] {
    const auto experiment = load(a->experiment);
    if (a->trace && a->experiment.out.empty())
      throw UsageError("--trace needs --out DIR for its files");
    auto options = options_of(a->experiment, experiment);
    options.trace = a->trace;
    return run_and_tell(a->experiment, experiment, std::move(options));
  };
}

} // namespace foretrain::cli
