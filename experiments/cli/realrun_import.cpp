#include "experiments/cli/command.hpp"
#include "experiments/cli/files.hpp"
#include "experiments/realrun_experiment.hpp"
#include "sim/base/error.hpp"

#include <filesystem>
#include <iostream>

namespace foretrain::cli {

namespace {

struct Arguments {
  std::vector<std::string> records;
  std::string platform = "vm-2core";
  std::vector<std::string> profiles;
  std::string out;
};

int import_records(const Arguments& arguments)
{
  if (arguments.out.empty() && arguments.records.size() > 1)
    throw UsageError("several records need --out DIR");
  if (!arguments.out.empty())
    std::filesystem::create_directories(arguments.out);
  for (const std::string& path : arguments.records) {
    const auto record = calibration::read_training_record(std::filesystem::path(path));
    Json experiment = experiments::realrun_experiment(record, arguments.platform);
    if (!arguments.profiles.empty())
      experiment["profiles"] = arguments.profiles;
    if (arguments.out.empty()) {
      std::cout << experiment.dump(2) << "\n";
      continue;
    }
    const auto file = std::filesystem::path(arguments.out) / (record.name + ".json");
    write_file(file.string(), experiment.dump(2) + "\n");
  }
  return done;
}

} // namespace

std::function<int()> realrun_import(CLI::App& app)
{
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("RECORD", arguments->records, "records of realrun-cpu train")->required();
  app.add_option("--platform", arguments->platform,
                 "the machine they ran on, a platform that trains on CPU cores")
      ->capture_default_str();
  app.add_option("--profile", arguments->profiles, "profiles that the experiment names");
  app.add_option("--out", arguments->out, "directory for the experiment files");
  return [arguments] { return import_records(*arguments); };
}

} // namespace foretrain::cli
