#include "experiments/cli/command.hpp"
#include "experiments/learn/realrun_experiment.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"

#include <cctype>
#include <filesystem>
#include <iostream>
#include <set>

namespace foretrain::cli {

namespace {

struct RealrunImportArguments {
  std::vector<std::string> records;
  std::string platform = "vm-2core";
  std::vector<std::string> profiles;
  std::string out;
};

// A record may be called anything; its file lies in the directory.
std::filesystem::path file_in(const std::string& directory, const std::string& name)
{
  std::string safe;
  for (const char c : name)
    safe += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.'
                ? c
                : '-';
  if (safe.empty() || safe.front() == '.')
    safe.insert(0, "record");
  return std::filesystem::path(directory) / (safe.substr(0, 200) + ".json");
}

int import_records(const RealrunImportArguments& arguments)
{
  if (arguments.out.empty() && arguments.records.size() > 1)
    throw UsageError("several records need --out DIR");
  if (!arguments.out.empty())
    std::filesystem::create_directories(arguments.out);
  std::set<std::filesystem::path> written;
  for (const std::string& path : arguments.records) {
    const auto record = calibration::read_training_record(std::filesystem::path(path));
    Json experiment = experiments::realrun_experiment(record, arguments.platform);
    if (!arguments.profiles.empty())
      experiment["profiles"] = arguments.profiles;
    if (arguments.out.empty()) {
      std::cout << experiment.dump(2) << "\n";
      continue;
    }
    const auto file = file_in(arguments.out, record.name);
    if (!written.insert(file).second)
      throw UsageError("two records would be written to '" + file.string() +
                       "': give each a name of its own");
    write_file(file.string(), experiment.dump(2) + "\n");
  }
  return done;
}

} // namespace

std::function<int()> realrun_import(CLI::App& app)
{
  const auto arguments = std::make_shared<RealrunImportArguments>();
  app.add_option("RECORD", arguments->records, "records of realrun-cpu train")->required();
  app.add_option("--platform", arguments->platform,
                 "the machine they ran on, a platform that trains on CPU cores")
      ->capture_default_str();
  app.add_option("--profile", arguments->profiles, "profiles that the experiment names");
  app.add_option("--out", arguments->out, "directory for the experiment files");
  return [arguments] { return import_records(*arguments); };
}

} // namespace foretrain::cli
