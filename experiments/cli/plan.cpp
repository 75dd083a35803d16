#include "experiments/answers/plan.hpp"

#include "experiments/cli/experiment_arguments.hpp"
#include "experiments/report/report_html_plan.hpp"
#include "experiments/report/report_plan.hpp"
#include "sim/base/files.hpp"

#include <unistd.h>

#include <iostream>

namespace foretrain::cli {

namespace {

using namespace experiments;

int run_plan(const ExperimentArguments& arguments)
{
  const LoadedPlan plan = load_plan(arguments.file, arguments.set, arguments.profiles);
  const Prediction prediction = cli::run(plan.experiment, options_of(arguments, plan.experiment));
  tell_errors(prediction);
  const Json answer = judge(plan, prediction.result);
  write_reports(arguments.out, prediction.result, plan_html(answer));
  if (arguments.format == "json")
    std::cout << answer.dump(2) << "\n";
  else if (arguments.format == "csv")
    std::cout << plan_csv(answer);
  else
    std::cout << report_plan(answer, {110, isatty(STDOUT_FILENO) == 1});
  std::cout.flush();
  if (!arguments.out.empty()) {
    write_file(arguments.out + "/plan.json", answer.dump(2) + "\n");
    write_file(arguments.out + "/plan.csv", plan_csv(answer));
  }
  const bool asked = !plan.spec.goals.empty() || plan.spec.budget.has_value();
  if (prediction.status == done && asked && answer.at("recommended").is_null())
    return violated;
  return prediction.status;
}

} // namespace

std::function<int()> plan(CLI::App& app)
{
  const auto a = std::make_shared<ExperimentArguments>();
  a->uncertainty = "linear"; // chances need it, whatever it costs
  add_experiment_options(app, *a, "plan");
  return [a] { return run_plan(*a); };
}

} // namespace foretrain::cli
