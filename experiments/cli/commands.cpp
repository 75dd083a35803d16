#include "experiments/cli/commands.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/command_errors.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/base/version.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <vector>

namespace foretrain::cli {

namespace {

constexpr Command kCommands[] = {
    {"predict", "how fast the jobs of an experiment run, and what limits them", &predict},
    {"sweep", "the same for many points, kept in a file that can be asked with SQL", &sweep},
    {"compare", "which of two systems is faster, how sure that is, and why", &compare},
    {"check", "experiments as tests: expectations and a baseline, for CI", &check},
    {"explain", "where a step's time goes, and what would make it shorter", &explain},
    {"sql", "ask a file of results of sweeps", &sql},
    {"report", "the report of a sweep from the file that keeps its points", &report},
    {"plan", "what to buy or change: the cheapest way to a goal", &plan},
    {"serve", "a local page that answers while one looks", &serve},
    {"fleet", "jobs over time on a cluster: queues, failures, checkpoints, goodput", &fleet},
    {"tune", "the best parallel plans of a large model's job", &tune},
    {"validate", "how far predictions are from measurements, by regime", &validate},
    {"calibrate", "make a profile of parameters from logs of your machine", &calibrate},
    {"nccl-tests", "what nccl-tests would print on a described machine", &nccl_tests},
    {"list", "the names that files may use: presets of every kind", &list},
    {"platform", "list, show, check or export platforms", &platform},
    {"program", "print the work program of an experiment's jobs", &program},
    {"model", "list, show or import neural networks", &model},
    {"trace", "what a profiler recorded: where the time of a step went", &trace},
    {"realrun-import", "experiments that repeat runs recorded by realrun", &realrun_import},
    {"mlperf-import", "a suite for validate from MLPerf result logs", &mlperf_import},
    {"parameters", "the numbers in presets and profiles, with spread and source", &parameters},
    {"schema", "print the JSON Schema of a kind of file", &schema},
    {"completion", "print the completion of commands for a shell", &completion},
};

int run_command(int argc, char** argv)
{
  CLI::App app{"foretrain: how fast will this training run on that cluster, and what limits it?"};
  app.set_version_flag("--version", "foretrain " + version_with_commit());
  app.footer("FORETRAIN_DATA, in the environment, is the folder of presets in place of those "
             "installed: one that holds platforms/data, models/data and so on.");
  app.require_subcommand(1);
  std::function<int()> chosen;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    auto action = command.setup(*sub);
    sub->callback([&chosen, action = std::move(action)] { chosen = action; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) // else it is --help or --version
      throw UsageError(command_error(app, error, {argv + 1, argv + argc}));
    return app.exit(error, std::cout, std::cerr);
  }
  return chosen();
}

// An answer that did not arrive is none.
int told(int status)
{
  std::cout.flush();
  if (std::cout)
    return status;
  std::cerr << "foretrain: the answer could not be written to standard output; is the disk full?\n";
  return std::max<int>(status, wrong_input);
}

} // namespace

int run(int argc, char** argv)
{
  try {
    return told(run_command(argc, argv));
  } catch (const ConfigError& error) {
    std::cerr << error.what() << "\n";
    return wrong_input;
  } catch (const UsageError& error) {
    std::cerr << "foretrain: " << error.what() << "\n";
    return wrong_input;
  } catch (const std::filesystem::filesystem_error& error) {
    std::cerr << "foretrain: " << excerpt(error.path1().string(), 200) << ": "
              << error.code().message() << "\n";
    return wrong_input;
  } catch (const std::exception& error) {
    std::cerr << "foretrain: internal error: " << error.what()
              << "; please report it with the input files\n";
    return internal_error;
  }
}

} // namespace foretrain::cli
