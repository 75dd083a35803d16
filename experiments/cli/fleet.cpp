#include "experiments/fleet/fleet.hpp"

#include "experiments/cli/command.hpp"
#include "experiments/cli/experiment_arguments.hpp"
#include "experiments/cli/progress.hpp"
#include "experiments/fleet/fleet_answer.hpp"
#include "experiments/fleet/fleet_html.hpp"
#include "experiments/fleet/fleet_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"

#include <csignal>
#include <iostream>

namespace foretrain::cli {

namespace {

using namespace experiments;

struct FleetArguments {
  std::string file;
  std::vector<std::string> set;
  std::string policy, policy_command, format = "table", out;
  int seed = 1, seeds = 1;
  CLI::Option *seed_given = nullptr, *seeds_given = nullptr;
};

volatile std::sig_atomic_t stop_asked = 0;

int run_fleet_command(const FleetArguments& a)
{
  LoadedFleet fleet = load_fleet(a.file, a.set, a.policy);
  if (!a.policy_command.empty() && !fleet.policy.gang)
    throw UsageError(
        "--policy-command decides about whole jobs: the policy must have \"gang\": true");
  if (!a.policy_command.empty())
    fleet.policy_name = a.policy_command;
  if (!a.out.empty())
    make_directory(a.out, "--out");
  FleetOptions options;
  options.seed =
      static_cast<std::uint64_t>(a.seed_given->count() > 0 ? a.seed : fleet.spec.seed.value_or(1));
  options.seeds = a.seeds_given->count() > 0 ? a.seeds : fleet.spec.seeds;
  options.history = !a.out.empty();
  options.policy_command = a.policy_command;
  ProgressBar bar("% of jobs");
  options.progress = [&](int seeds, std::size_t ended, std::size_t jobs) {
    const double part = jobs > 0 ? static_cast<double>(ended) / static_cast<double>(jobs) : 1;
    bar.show(static_cast<int>(100 * (seeds + part) / options.seeds), 100);
    return stop_asked == 0;
  };
  const auto before = std::signal(SIGINT, [](int) { stop_asked = 1; });
  const std::vector<FleetRun> runs = run_fleet(fleet, options);
  std::signal(SIGINT, before);
  bar.clear();
  const FleetAnswer answer = fleet_answer(fleet, runs);
  const std::string json = written(answer).dump(2) + "\n";
  if (a.format == "json")
    std::cout << json;
  else if (a.format == "csv")
    std::cout << jobs_csv(runs.front());
  else
    std::cout << fleet_table(answer);
  std::cout.flush();
  if (!a.out.empty()) {
    write_file(a.out + "/fleet.json", json);
    write_file(a.out + "/report.html", fleet_html(answer, runs.front()));
    write_file(a.out + "/jobs.csv", jobs_csv(runs.front()));
    write_file(a.out + "/jobs.swf", jobs_swf(runs.front(), answer));
    std::cerr << "wrote " << a.out << "/report.html, fleet.json, jobs.csv, jobs.swf\n";
  }
  const std::vector<std::string> violations = violated_by(answer, fleet);
  for (const std::string& line : violations)
    std::cerr << fleet.document->name << ": expectation not met: " << line << "\n";
  return violations.empty() ? done : violated;
}

} // namespace

std::function<int()> fleet(CLI::App& app)
{
  const auto a = std::make_shared<FleetArguments>();
  app.add_option("FLEET", a->file, "fleet file, or the name of a bundled one")->required();
  app.add_option("--set", a->set, "POINTER=VALUE: change a value of the file; may be repeated");
  app.add_option("--policy", a->policy, "name of a policy, instead of the file's");
  app.add_option("--policy-command", a->policy_command,
                 "a command that decides who starts: it reads a line of JSON for each decision and "
                 "answers with one (docs/fleet.md)");
  app.add_option("--format", a->format, "table, json or csv (one row a job)")
      ->check(CLI::IsMember({"table", "json", "csv"}));
  a->seed_given =
      app.add_option("--seed", a->seed, "the first seed")->check(CLI::NonNegativeNumber);
  a->seeds_given = app.add_option("--seeds", a->seeds, "how often it is simulated, for intervals")
                       ->check(CLI::Range(1, 10000));
  app.add_option("--out", a->out, "directory for report.html, fleet.json, jobs.csv, jobs.swf");
  return [a] { return run_fleet_command(*a); };
}

} // namespace foretrain::cli
