#include "experiments/cli/experiment_arguments.hpp"

#include "experiments/cli/progress.hpp"
#include "experiments/report/report_csv.hpp"
#include "experiments/report/report_html.hpp"
#include "experiments/report/report_table.hpp"
#include "experiments/run/keep/result_json.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"
#include "sim/base/text.hpp"

#include <unistd.h>

#include <cctype>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <set>

#include <fmt/format.h>

namespace foretrain::cli {

namespace {

using namespace experiments;

UncertaintyMethod method_of(const std::string& name)
{
  return name == "steps"         ? UncertaintyMethod::steps
         : name == "linear"      ? UncertaintyMethod::linear
         : name == "monte-carlo" ? UncertaintyMethod::monte_carlo
                                 : UncertaintyMethod::automatic;
}

// What is simulated at the moment, for runs that take long enough to wonder.
class StepLine {
public:
  void show(const std::string& text)
  {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_)
      return;
    next_ = now + std::chrono::milliseconds(200);
    std::cerr << "\r\033[K" << text << std::flush;
    shown_ = true;
  }
  void clear() const
  {
    if (shown_)
      std::cerr << "\r\033[K" << std::flush;
  }

private:
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
  bool shown_ = false;
};

// "table, json or csv".
std::string one_of(const std::vector<std::string>& words)
{
  return joined({words.begin(), std::prev(words.end())}) + " or " + words.back();
}

} // namespace

void make_directory(const std::string& path, const std::string& option)
{
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || !std::filesystem::is_directory(path))
    throw UsageError(option + ": cannot make the directory '" + path + "'");
}

void add_experiment_options(CLI::App& app, ExperimentArguments& a, const std::string& kind)
{
  std::string upper = kind;
  for (char& c : upper)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  app.add_option(upper, a.file, kind + " file, the name of a bundled one, or - for standard input")
      ->required();
  add_run_options(app, a);
  app.add_option("--out", a.out,
                 "directory for report.html, result.json, result.csv, points.jsonl");
}

void add_run_options(CLI::App& app, ExperimentArguments& a, const std::vector<std::string>& formats)
{
  app.add_option("--set", a.set, "POINTER=VALUE: change a value of the file; may be repeated");
  app.add_option(
      "--profile", a.profiles,
      "calibrated parameters to lay over the presets; may be repeated, later ones override");
  app.add_option("--format", a.format, one_of(formats))->check(CLI::IsMember(formats));
  a.seed_given = app.add_option("--seed", a.seed, "seed of all random streams")
                     ->check(not_negative)
                     ->check(seed_in_range);
  app.add_option("--fidelity", a.fidelity, "coupled, edges or chunks: how finely collectives run")
      ->check(CLI::IsMember(words_of<models::Fidelity>()));
  app.add_option("--jobs", a.jobs, "points at a time; default: one per core")
      ->check(CLI::Range(1, 1024));
  app.add_option(
         "--uncertainty", a.uncertainty,
         "what intervals hold: steps (variation from step to step), linear or monte-carlo "
         "(and the spread of parameters); auto: linear up to 300,000 flows or GPUs and 250 points")
      ->check(CLI::IsMember({"auto", "steps", "linear", "monte-carlo"}));
  app.add_option("--samples", a.samples, "of monte-carlo")->check(CLI::Range(20, 100000));
  app.add_option("--interval", a.interval, "probability that the intervals hold")
      ->check(CLI::Range(0.01, 0.999))
      ->check(finite);
}

LoadedExperiment load(const ExperimentArguments& arguments)
{
  return load_experiment(arguments.file, arguments.set, arguments.profiles);
}

PredictOptions options_of(const ExperimentArguments& arguments, const LoadedExperiment& experiment)
{
  PredictOptions options;
  options.seed = arguments.seed_given->count() > 0
                     ? arguments.seed
                     : static_cast<std::uint64_t>(experiment.spec.seed.value_or(1));
  options.fidelity = choice_of<models::Fidelity>(arguments.fidelity).value();
  options.jobs = arguments.jobs > 0 ? arguments.jobs : cores();
  options.uncertainty = {method_of(arguments.uncertainty), arguments.samples, arguments.interval};
  options.directory = arguments.out;
  if (!arguments.out.empty())
    make_directory(arguments.out, "--out");
  return options;
}

Prediction run(const LoadedExperiment& experiment, PredictOptions options)
{
  StepLine step_line;
  if (isatty(STDERR_FILENO) == 1)
    options.steps = [&step_line](const std::string& text) { step_line.show(text); };
  ProgressBar bar("points");
  Prediction prediction = experiments::predict(
      experiment, options, [&bar](int finished, int total) { bar.show(finished, total); });
  bar.clear();
  step_line.clear();
  return prediction;
}

void write_reports(const std::string& directory, const ExperimentResult& result,
                   const std::string& decision)
{
  if (directory.empty())
    return;
  write_file(directory + "/result.json", written(result).dump(2) + "\n");
  write_file(directory + "/result.csv", report_csv(result));
  write_file(directory + "/report.html", report_html(result, decision));
  std::error_code error;
  const bool lines = std::filesystem::exists(directory + "/points.jsonl", error);
  std::cerr << "wrote " << directory << "/report.html, result.json, result.csv"
            << (lines ? ", points.jsonl\n" : "\n");
}

void tell_errors(const Prediction& prediction)
{
  std::set<std::string> told; // points of a sweep fail alike
  for (const auto& error : prediction.errors)
    if (told.insert(error).second)
      std::cerr << error << "\n";
}

void tell_misfits(const Prediction& prediction)
{
  std::size_t jobs = 0;
  std::size_t misfits = 0;
  for (const PointResult& point : prediction.result.points)
    for (const JobResult& job : point.jobs) {
      ++jobs;
      misfits += job.memory.fits() ? 0U : 1U;
    }
  if (misfits > 0)
    std::cerr << (jobs == 1
                      ? "it does not fit in device memory: the rate is what more would allow\n"
                      : fmt::format("{} of {} results do not fit in device memory: their "
                                    "rates are what more would allow\n",
                                    misfits, jobs));
}

int run_and_tell(const ExperimentArguments& arguments, const LoadedExperiment& experiment,
                 PredictOptions options)
{
  return tell(arguments, experiment, run(experiment, std::move(options)));
}

namespace {

// Where the answer itself has no place for them, each once.
void tell_warnings(const ExperimentResult& result)
{
  std::set<std::string> told;
  for (const PointResult& point : result.points)
    for (const std::string& warning : point.warnings)
      if (told.insert(warning).second)
        std::cerr << "warning: " << warning << "\n";
}

} // namespace

int tell(const ExperimentArguments& arguments, const LoadedExperiment& experiment,
         const Prediction& prediction)
{
  if (arguments.format == "json")
    std::cout << written(prediction.result).dump(2) << "\n";
  else if (arguments.format == "csv")
    std::cout << report_csv(prediction.result);
  else if (prediction.errors.size() < experiment.points.size())
    std::cout << report_table(prediction.result, {110, isatty(STDOUT_FILENO) == 1});
  std::cout.flush();
  tell_errors(prediction);
  if (arguments.format == "csv")
    tell_warnings(prediction.result);
  tell_misfits(prediction);
  for (const auto& line : prediction.expectations)
    std::cerr << experiment.document->name << ": expectation not met: " << line << "\n";
  write_reports(arguments.out, prediction.result); // last: a full disk must not swallow the answer
  if (!prediction.unwritten.empty())
    throw UsageError("cannot write '" + prediction.unwritten + "'");
  return prediction.status;
}

} // namespace foretrain::cli
