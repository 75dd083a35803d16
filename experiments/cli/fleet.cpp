#include "experiments/fleet/fleet.hpp"

#include "experiments/cli/command.hpp"
#include "experiments/cli/experiment_arguments.hpp"
#include "experiments/cli/fleet_run.hpp"
#include "experiments/cli/part_argument.hpp"
#include "experiments/cli/slurm.hpp"
#include "experiments/fleet/fleet_expectations.hpp"
#include "experiments/fleet/fleet_html.hpp"
#include "experiments/fleet/fleet_points_text.hpp"
#include "experiments/fleet/fleet_text.hpp"
#include "experiments/fleet/fleet_timeline.hpp"
#include "experiments/fleet/fleet_when.hpp"
#include "experiments/fleet/kept_seeds.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"

#include <iostream>

#include <fmt/format.h>

namespace foretrain::cli {

namespace {

using namespace experiments;

struct FleetArguments {
  std::string file;
  std::vector<std::string> set;
  std::string policy, policy_command, policy_name, format = "table", out, when, keep;
  int seed = 1, seeds = 1, jobs = 1;
  LauncherArguments launcher;
  CLI::Option *seed_given = nullptr, *seeds_given = nullptr, *jobs_given = nullptr;
};

// A policy's command decides instead of the file's backfill.
void decide_by_command(FleetFile& file, const std::string& name)
{
  for (FleetPoint& point : file.points) {
    if (!point.fleet.policy.gang)
      throw UsageError(
          "--policy-command decides about whole jobs: the policy must have \"gang\": true");
    point.fleet.policy_name = name;
  }
}

// What an answer is printed as, and its files.
struct FleetTexts {
  std::string table, json, csv, html;
  std::string csv_name;
};

void print_fleet(const FleetArguments& a, const FleetTexts& texts)
{
  std::cout << (a.format == "json" ? texts.json : a.format == "csv" ? texts.csv : texts.table);
  std::cout.flush();
  if (a.out.empty())
    return;
  write_file(a.out + "/fleet.json", texts.json);
  write_file(a.out + "/report.html", texts.html);
  write_file(a.out + "/" + texts.csv_name, texts.csv);
}

int judge_fleet(const FleetFile& file, const std::vector<FleetPointRun>& runs)
{
  const std::vector<std::string> violations = violated_fleet_expectations(file, runs);
  for (const std::string& line : violations)
    std::cerr << file.document->name << ": expectation not met: " << line << "\n";
  return violations.empty() ? done : violated;
}

int run_when(const FleetArguments& a, const FleetFile& file, const FleetOptions& options)
{
  if (a.format == "csv" || !a.out.empty())
    throw UsageError("--when tells of one job, as table or json: without --out and --format csv");
  if (file.points.size() > 1)
    throw UsageError(fmt::format("--when is about one fleet, and the sweep makes {}\n  hint: --set "
                                 "holds at one value what the sweep varies",
                                 file.points.size()));
  const LoadedFleet& fleet = file.points.front().fleet;
  require_job(fleet, a.when);
  const FleetWhenAnswer answer = fleet_when(fleet, run_with_bar(fleet, options), a.when);
  std::cout << (a.format == "json" ? written(answer).dump(2) + "\n" : fleet_when_text(answer));
  return done;
}

// What was written of it, to be told after other files.
std::string write_timeline(const FleetArguments& a, const LoadedFleet& fleet, const FleetRun& run)
{
  if (const std::size_t pieces = timeline_pieces(run); pieces > kMostTimelinePieces)
    return fmt::format("; no timeline.json: {} pieces, more than {}", pieces, kMostTimelinePieces);
  write_file(a.out + "/timeline.json", fleet_timeline(run, fleet.shape.gpus_per_node));
  return ", timeline.json";
}

int run_one_fleet(const FleetArguments& a, const FleetFile& file, FleetOptions options)
{
  const FleetPoint& point = file.points.front();
  options.history = !a.out.empty();
  const std::vector<FleetRun> runs = run_with_bar(point.fleet, options);
  const FleetAnswer answer = fleet_answer(point.fleet, runs);
  print_fleet(a, {fleet_table(answer), written(answer).dump(2) + "\n", jobs_csv(runs.front()),
                  a.out.empty() ? "" : fleet_html(answer, runs.front()), "jobs.csv"});
  if (!a.out.empty()) {
    write_file(a.out + "/jobs.swf", jobs_swf(runs.front(), answer));
    std::cerr << "wrote " << a.out << "/report.html, fleet.json, jobs.csv, jobs.swf"
              << write_timeline(a, point.fleet, runs.front()) << "\n";
  }
  if (point.fleet.spec.expect.empty()) // answers seed by seed take as long as all together
    return done;
  return judge_fleet(file, {point_run(point, runs)});
}

int run_all_points(const FleetArguments& a, const FleetFile& file, const FleetOptions& options)
{
  const std::vector<FleetPointRun> runs = run_with_bar(file.points, options);
  const FleetSweepAnswer answer = fleet_sweep_answer(file, runs);
  print_fleet(a, {fleet_points_table(answer), written(answer).dump(2) + "\n",
                  fleet_points_csv(answer), fleet_points_html(answer), "points.csv"});
  if (!a.out.empty())
    std::cerr << "wrote " << a.out << "/report.html, fleet.json, points.csv\n";
  return judge_fleet(file, runs);
}

// This program with these arguments, on another machine.
std::vector<std::string> command_of(const FleetArguments& a, const FleetOptions& options)
{
  std::vector<std::string> words{this_program(), "fleet", a.file, "--keep", a.keep};
  for (const std::string& setting : a.set)
    words.insert(words.end(), {"--set", setting});
  const std::vector<std::pair<std::string, std::string>> others{
      {"--policy", a.policy},
      {"--when", a.when},
      {"--out", a.out},
      {"--format", a.format},
      {"--seed", std::to_string(options.seed)},
      {"--seeds", std::to_string(options.seeds)}};
  for (const auto& [option, value] : others)
    if (!value.empty())
      words.insert(words.end(), {option, value});
  return words;
}

// Seeds that others collect: a part of them here, or all as an array of Slurm.
int leave_seeds(const FleetArguments& a, const FleetFile& file, FleetOptions options)
{
  const std::size_t pieces = file.points.size() * static_cast<std::size_t>(options.seeds);
  if (a.launcher.part.empty())
    return submit_to_slurm({command_of(a, options), a.keep + "/seeds",
                            a.jobs_given->count() > 0 ? a.jobs : 0, a.launcher.sbatch},
                           pieces, "seeds");
  options.part = part_of(a.launcher.part);
  options.history = !a.out.empty() && !file.swept();
  run_fleet_part(file.points, options);
  return done;
}

int answer(const FleetArguments& a, const FleetFile& file, const FleetOptions& options)
{
  if (!a.when.empty())
    return run_when(a, file, options);
  return file.swept() ? run_all_points(a, file, options) : run_one_fleet(a, file, options);
}

void require_folder_of_seeds(const FleetArguments& a)
{
  if (a.keep.empty() && (a.launcher.slurm() || !a.launcher.part.empty()))
    throw UsageError(std::string(a.launcher.slurm() ? "--launcher slurm" : "--part") +
                     " needs --keep DIR, where seeds are left for the answer");
  if (!a.keep.empty() && !a.policy_command.empty())
    throw UsageError("--keep knows seeds by their fleet's file, not by what --policy-command does");
  if (!a.keep.empty())
    make_directory(a.keep, "--keep");
}

int run_fleet_command(const FleetArguments& a)
{
  require_folder_of_seeds(a);
  FleetFile file = load_fleet_file(a.file, a.set, a.policy);
  if (!a.policy_command.empty())
    decide_by_command(file, a.policy_name.empty() ? a.policy_command : a.policy_name);
  if (!a.out.empty())
    make_directory(a.out, "--out");
  FleetSeeds given;
  if (a.seed_given->count() > 0)
    given.seed = static_cast<std::uint64_t>(a.seed);
  if (a.seeds_given->count() > 0)
    given.seeds = a.seeds;
  if (a.jobs_given->count() > 0)
    given.jobs = a.jobs;
  FleetOptions options = fleet_options(file.points, given);
  options.policy_command = a.policy_command;
  if (a.keep.empty())
    return answer(a, file, options);
  KeptSeeds kept(a.keep);
  options.kept = &kept;
  if (a.launcher.slurm() || !a.launcher.part.empty())
    return leave_seeds(a, file, options);
  const int status = answer(a, file, options);
  if (kept.found() > 0)
    std::cerr << fmt::format("{} seeds were in {} already\n", kept.found(), a.keep);
  if (kept.damaged() > 0)
    std::cerr << fmt::format("{} seeds in {} were damaged and have been simulated again\n",
                             kept.damaged(), a.keep);
  return status;
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
  app.add_option("--policy-name", a->policy_name,
                 "what answers call the policy of --policy-command; default the command");
  app.add_option("--format", a->format,
                 "table, json or csv (one row a job; of a sweep one a point)")
      ->check(CLI::IsMember({"table", "json", "csv"}));
  app.add_option("--when", a->when,
                 "JOB of the trace, by its id: when it starts, how sure that is, and what it waits "
                 "for");
  a->seed_given = app.add_option("--seed", a->seed, "the first seed")
                      ->check(not_negative)
                      ->check(seed_in_range);
  a->seeds_given = app.add_option("--seeds", a->seeds, "how often it is simulated, for intervals")
                       ->check(CLI::Range(1, 10000));
  a->jobs_given = app.add_option("--jobs", a->jobs, "seeds at a time; default: one per core")
                      ->check(CLI::Range(1, 1024));
  app.add_option(
      "--keep", a->keep,
      "DIR: every seed that is simulated is left there, and taken from there where it is");
  add_launcher_options(
      app, a->launcher,
      "only every N-th seed, from the K-th, into the folder of --keep, for launchers "
      "of one's own; without it the command answers with all of them");
  app.add_option("--out", a->out,
                 "directory for report.html, fleet.json, jobs.csv, jobs.swf, timeline.json; of a "
                 "sweep points.csv");
  return [a] { return run_fleet_command(*a); };
}

} // namespace foretrain::cli
