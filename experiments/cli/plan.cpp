#include "experiments/answers/plan_answer.hpp"

#include "experiments/cli/experiment_arguments.hpp"
#include "experiments/cli/fleet_run.hpp"
#include "experiments/fleet/fleet_plan.hpp"
#include "experiments/report/report_html_plan.hpp"
#include "experiments/report/report_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"

#include <unistd.h>

#include <iostream>

namespace foretrain::cli {

namespace {

using namespace experiments;

struct PlanArguments {
  ExperimentArguments experiment;
  int seeds = 1;
  const CLI::Option* seeds_given = nullptr;
};

int run_experiment_plan(const ExperimentArguments& arguments, const PlanFile& file)
{
  const LoadedPlan plan = load_plan(file, arguments.profiles);
  const Prediction prediction = cli::run(plan.experiment, options_of(arguments, plan.experiment));
  tell_errors(prediction);
  const PlanAnswer answer = judge(plan, prediction.result);
  write_reports(arguments.out, prediction.result, plan_html(answer));
  const std::string json = written(answer).dump(2) + "\n";
  if (arguments.format == "json")
    std::cout << json;
  else if (arguments.format == "csv")
    std::cout << plan_csv(answer);
  else
    std::cout << report_plan(answer, {110, isatty(STDOUT_FILENO) == 1});
  std::cout.flush();
  if (!arguments.out.empty()) {
    write_file(arguments.out + "/plan.json", json);
    write_file(arguments.out + "/plan.csv", plan_csv(answer));
  }
  const bool asked = !plan.spec.goals.empty() || plan.spec.budget.has_value();
  if (prediction.status == done && asked && !answer.recommended)
    return violated;
  return prediction.status;
}

int run_fleet_plan(const PlanArguments& a, const PlanFile& file)
{
  const ExperimentArguments& arguments = a.experiment;
  const LoadedFleetPlan plan = load_fleet_plan(file);
  if (!arguments.out.empty())
    make_directory(arguments.out, "--out");
  FleetSeeds given;
  if (arguments.seed_given->count() > 0)
    given.seed = arguments.seed;
  if (a.seeds_given->count() > 0)
    given.seeds = a.seeds;
  const auto runs = run_with_bar(plan.points, fleet_options(plan.points, given));
  const FleetPlanAnswer answer = judge_fleet_plan(plan, runs);
  const std::string json = written(answer).dump(2) + "\n";
  if (arguments.format == "json")
    std::cout << json;
  else if (arguments.format == "csv")
    std::cout << fleet_plan_csv(answer);
  else
    std::cout << fleet_plan_table(answer);
  std::cout.flush();
  if (!arguments.out.empty()) {
    write_file(arguments.out + "/plan.json", json);
    write_file(arguments.out + "/plan.csv", fleet_plan_csv(answer));
    write_file(arguments.out + "/report.html", fleet_plan_html(answer));
    std::cerr << "wrote " << arguments.out << "/report.html, plan.json, plan.csv\n";
  }
  return answer.recommended.is_null() ? violated : done;
}

int run_plan(const PlanArguments& a, const CLI::App& app)
{
  const PlanFile file = load_plan_file(a.experiment.file, a.experiment.set);
  if (file.spec.fleet) {
    refuse_options_of_experiments(app);
    return run_fleet_plan(a, file);
  }
  if (a.seeds_given->count() > 0)
    throw UsageError("--seeds is for plans of a fleet, and this one is of an experiment");
  return run_experiment_plan(a.experiment, file);
}

} // namespace

std::function<int()> plan(CLI::App& app)
{
  const auto a = std::make_shared<PlanArguments>();
  a->experiment.uncertainty = "linear"; // chances need it, whatever it costs
  add_experiment_options(app, a->experiment, "plan");
  a->seeds_given =
      app.add_option("--seeds", a->seeds, "of a fleet: how often each candidate is simulated")
          ->check(CLI::Range(1, 10000));
  return [a, &app] { return run_plan(*a, app); };
}

} // namespace foretrain::cli
