#include "experiments/cli/command.hpp"
#include "experiments/cli/experiment_arguments.hpp"
#include "experiments/cli/progress.hpp"
#include "experiments/validate/fleet_rows.hpp"
#include "experiments/validate/founding_gate.hpp"
#include "experiments/validate/founding_table.hpp"
#include "experiments/validate/validation_gates.hpp"
#include "experiments/validate/validation_html.hpp"
#include "experiments/validate/validation_json.hpp"
#include "experiments/validate/validation_table.hpp"
#include "sim/base/catalog.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>

namespace foretrain::cli {

namespace {

using namespace experiments;

struct ValidateArguments {
  std::vector<std::string> suites;
  std::string format = "table";
  std::string out;
  std::string only;
  std::vector<std::string> profiles;
  bool update_gates = false;
  std::uint64_t seed = 1;
  int jobs = 0;
  std::size_t worst = 10;
};

constexpr int kInterrupted = 130;

std::vector<SuiteSpec> load_suites(const std::vector<std::string>& named,
                                   const std::vector<std::string>& profiles)
{
  std::vector<SuiteSpec> suites;
  for (const std::string& name : named.empty() ? preset_names(kSuiteKind) : named)
    suites.push_back(load_suite(name, profiles));
  return suites;
}

// Rows in a line-per-row file as they are predicted, so that nothing is lost.
std::ofstream open_stream(const std::string& directory)
{
  std::ofstream out;
  if (directory.empty())
    return out;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!std::filesystem::is_directory(directory))
    throw UsageError("--out: cannot make the directory '" + directory + "'");
  out.open(directory + "/rows.jsonl");
  return out;
}

void write_validation(const std::string& directory, const Json& result)
{
  if (directory.empty())
    return;
  write_file(directory + "/validation.json", result.dump(2) + "\n");
  write_file(directory + "/validation.csv", validation_csv(result));
  write_file(directory + "/validation.html", validation_html(result));
  std::cerr << "wrote " << directory << "/validation.html, validation.json, validation.csv, "
            << "rows.jsonl\n";
}

void print(const ValidateArguments& arguments, const Json& result)
{
  if (arguments.format == "json")
    std::cout << result.dump(2) << "\n";
  else if (arguments.format == "csv")
    std::cout << validation_csv(result);
  else if (arguments.format == "html")
    std::cout << validation_html(result);
  else
    std::cout << validation_table(result, arguments.worst);
  std::cout.flush();
}

int status_of(const std::vector<Comparison>& comparisons)
{
  int status = 0;
  for (const Comparison& it : comparisons) {
    if (it.status > 0)
      std::cerr << it.row.id << ": " << it.problem << "\n";
    status = std::max(status, it.status);
  }
  return status;
}

int jobs_of(const ValidateArguments& arguments)
{
  return arguments.jobs > 0 ? arguments.jobs : cores();
}

// Records the claims that hold, or tells those that no longer do.
int hold_gate(const ClaimsFile& file, const ClaimsGate& now, const ValidateArguments& arguments)
{
  if (arguments.update_gates) {
    write_claims_gate(file, now);
    std::cerr << "wrote " << claims_gate_path(file).string() << "\n";
    return done;
  }
  const auto lost = lost_claims(load_claims_gate(file), now);
  for (const std::string& line : lost)
    std::cerr << "gate not held: " << line << "\n";
  return lost.empty() ? done : 1;
}

// What the documents behind the first systems say, instead of a suite.
int run_founding(const ValidateArguments& arguments)
{
  const ClaimsFile file = load_claims("founding");
  RunOptions options;
  options.seed = arguments.seed;
  ProgressBar bar("claims");
  const auto tell = [&bar](int finished, int total) { bar.show(finished, total); };
  const auto verdicts = judge_claims(file, options, jobs_of(arguments), tell);
  bar.clear();
  if (!verdicts)
    return kInterrupted;
  const Json json = claims_json(file, *verdicts);
  if (arguments.format == "json")
    std::cout << json.dump(2) << "\n";
  else
    std::cout << claims_table(*verdicts, false);
  std::cout.flush();
  if (!arguments.out.empty()) {
    std::filesystem::create_directories(arguments.out);
    write_file(arguments.out + "/founding.json", json.dump(2) + "\n");
    write_file(arguments.out + "/founding.md", claims_table(*verdicts, true));
  }
  int status = 0;
  for (const ClaimVerdict& verdict : *verdicts) {
    if (!verdict.error.empty())
      std::cerr << verdict.claim->id << ": " << verdict.error << "\n";
    status = std::max(status, verdict.status);
  }
  return status > 0 ? status : hold_gate(file, gate_of(*verdicts), arguments);
}

// Clusters over time: rows of another kind than a suite's.
int run_fleet_rows(const ValidateArguments& arguments)
{
  ProgressBar bar("rows");
  const auto verdicts =
      judge_fleet_rows(load_fleet_rows("fleet-rows"),
                       [&bar](int finished, int total) { bar.show(finished, total); });
  bar.clear();
  const std::string json = fleet_rows_json(verdicts).dump(2) + "\n";
  std::cout << (arguments.format == "json" ? json : fleet_rows_table(verdicts));
  std::cout.flush();
  if (!arguments.out.empty()) {
    make_directory(arguments.out, "--out");
    write_file(arguments.out + "/fleet.json", json);
  }
  return done;
}

int run_validate(const ValidateArguments& arguments)
{
  if (arguments.suites == std::vector<std::string>{"fleet"})
    return run_fleet_rows(arguments);
  if (arguments.suites == std::vector<std::string>{"founding"})
    return run_founding(arguments);
  const bool changed = !arguments.only.empty() || !arguments.profiles.empty();
  if (arguments.update_gates && changed)
    throw UsageError("--update-gates needs suites as they are: leave out --only and --profile");
  const SuitePlan plan = plan_suites(load_suites(arguments.suites, arguments.profiles),
                                     arguments.only, arguments.profiles);
  if (plan.measurements.empty())
    throw UsageError("--only '" + arguments.only + "' leaves no row");
  std::ofstream stream = open_stream(arguments.out);
  RunOptions options;
  options.seed = arguments.seed;
  ProgressBar bar("runs");
  const auto tell = [&bar](int finished, int total) { bar.show(finished, total); };
  const auto comparisons =
      compare(plan, options, jobs_of(arguments), tell, [&](const Comparison& comparison) {
        if (stream.is_open())
          stream << to_json(plan, comparison).dump() << std::endl;
      });
  bar.clear();
  if (!comparisons)
    return kInterrupted;
  const Verdict verdict = judge(plan, *comparisons, options, changed);
  print(arguments, verdict.result);
  write_validation(arguments.out, verdict.result);
  if (!stream)
    throw UsageError("cannot write '" + arguments.out + "/rows.jsonl'");
  if (const int status = status_of(*comparisons); status > 0)
    return status;
  if (arguments.update_gates) {
    for (std::size_t i = 0; i < plan.suites.size(); ++i) {
      write_gates(plan.suites[i], verdict.gates[i]);
      std::cerr << "wrote " << gates_path(plan.suites[i]).string() << "\n";
    }
    return done;
  }
  for (const std::string& line : verdict.passed)
    std::cerr << "gate not held: " << line << "\n";
  return verdict.passed.empty() ? done : 1;
}

} // namespace

std::function<int()> validate(CLI::App& app)
{
  const auto a = std::make_shared<ValidateArguments>();
  app.add_option("SUITE", a->suites,
                 "suite files, or names of bundled ones; default: all bundled. founding: what the "
                 "documents behind the first systems say, claim by claim; fleet: clusters over "
                 "time, row by row");
  app.add_option("--format", a->format, "table, json, csv or html")
      ->check(CLI::IsMember({"table", "json", "csv", "html"}));
  app.add_option("--out", a->out,
                 "directory for validation.html, validation.json, validation.csv, rows.jsonl");
  app.add_option("--only", a->only, "ids of the rows to run; * stands for any text; no gates");
  app.add_option("--profile", a->profiles,
                 "calibrated parameters to lay over the presets; no gates");
  app.add_option("--worst", a->worst, "how many rows of the largest error the table shows")
      ->check(CLI::Range(0, 100000));
  app.add_flag("--update-gates", a->update_gates,
               "record today's errors, with a margin, as the gates of these suites");
  app.add_option("--seed", a->seed, "seed of all random streams")->check(not_negative);
  app.add_option("--jobs", a->jobs, "runs at a time; default: one per core")
      ->check(CLI::Range(1, 1024));
  return [a] { return run_validate(*a); };
}

} // namespace foretrain::cli
