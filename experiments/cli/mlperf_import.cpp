#include "calibration/text_log.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/validate/mlperf_suite.hpp"
#include "experiments/validate/suite.hpp"
#include "sim/base/files.hpp"

#include <iostream>

namespace foretrain::cli {

namespace {

struct MlperfArguments {
  std::vector<std::string> logs;
  experiments::MlperfOptions options;
  std::string out;
};

int import_mlperf(const MlperfArguments& a)
{
  std::vector<experiments::NamedMlperfLog> logs;
  for (const std::string& path : a.logs)
    logs.push_back({path, calibration::read_mlperf(calibration::read_log(path), path)});
  const std::string text = experiments::mlperf_suite(logs, a.options).dump(2) + "\n";
  if (a.out.empty())
    std::cout << text;
  else
    write_file(a.out, text);
  return done;
}

} // namespace

std::function<int()> mlperf_import(CLI::App& app)
{
  const auto a = std::make_shared<MlperfArguments>();
  app.add_option("LOG", a->logs, "result logs of one submission: repetitions of one row")
      ->required();
  app.add_option("--experiment", a->options.experiment, "the experiment that should predict it")
      ->required();
  app.add_option("--gpus", a->options.gpus, "GPUs of the whole run, which logs do not tell")
      ->check(CLI::Range(1, 1 << 20))
      ->required();
  app.add_option("--regime", a->options.regime, "what the run mainly tests")
      ->check(CLI::IsMember(experiments::kRegimes))
      ->required();
  app.add_option("--out", a->out, "file for the suite; default: standard output");
  return [a] { return import_mlperf(*a); };
}

} // namespace foretrain::cli
