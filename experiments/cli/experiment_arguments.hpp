// What the commands share that run an experiment: its options, progress, and how its result is
// told.
#pragma once

#include "experiments/answers/predict.hpp"
#include "experiments/cli/command.hpp"

#include <string>
#include <vector>

namespace foretrain::cli {

struct ExperimentArguments {
  std::string file;
  std::vector<std::string> set;
  std::vector<std::string> profiles;
  std::string format = "table";
  std::string out;
  std::uint64_t seed = 1;
  CLI::Option* seed_given = nullptr;
  std::string fidelity = "coupled";
  int jobs = 0;
  std::string uncertainty = "auto";
  int samples = 200;
  double interval = 0.9;
};

/// Adds the options; the arguments must outlive the parsing.
void add_experiment_options(CLI::App& app, ExperimentArguments& arguments,
                            const std::string& kind = "experiment");

/// Those options that do not say which experiment, or where files go. `formats`: of the answer.
void add_run_options(CLI::App& app, ExperimentArguments& arguments,
                     const std::vector<std::string>& formats = {"table", "json", "csv"});

/// Makes a directory that an option asks for. Throws UsageError.
void make_directory(const std::string& path, const std::string& option);

experiments::LoadedExperiment load(const ExperimentArguments& arguments);
/// As the arguments ask; makes the directory of --out.
experiments::PredictOptions options_of(const ExperimentArguments& arguments,
                                       const experiments::LoadedExperiment& experiment);
/// Runs with progress on a terminal.
experiments::Prediction run(const experiments::LoadedExperiment& experiment,
                            experiments::PredictOptions options);
/// Writes report.html, result.json and result.csv into the directory, if there is one (not "").
/// `decision`: HTML that the report begins with; empty: the answers of the prediction.
void write_reports(const std::string& directory, const experiments::ExperimentResult& result,
                   const std::string& decision = "");
/// Errors of points, each once.
void tell_errors(const experiments::Prediction& prediction);
/// On stderr, how many results are of jobs that do not fit in device memory.
void tell_misfits(const experiments::Prediction& prediction);
/// All of that, and prints the result; returns the exit code.
int run_and_tell(const ExperimentArguments& arguments,
                 const experiments::LoadedExperiment& experiment,
                 experiments::PredictOptions options);

/// Prints what was predicted, then writes the files of --out; returns the exit code.
int tell(const ExperimentArguments& arguments, const experiments::LoadedExperiment& experiment,
         const experiments::Prediction& prediction);

} // namespace foretrain::cli
