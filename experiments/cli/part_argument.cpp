#include "experiments/cli/part_argument.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <exception>

namespace foretrain::cli {

void add_launcher_options(CLI::App& app, LauncherArguments& arguments, const std::string& part)
{
  app.add_option("--launcher", arguments.launcher,
                 "local: processes here; slurm: a job array of --jobs tasks (default 16)")
      ->check(CLI::IsMember({"local", "slurm"}));
  app.add_option("--sbatch", arguments.sbatch,
                 "an option for sbatch, like --sbatch=--partition=cpu; may be repeated");
  app.add_option("--part", arguments.part, "K/N: " + part);
}

experiments::WorkPart part_of(const std::string& text)
{
  experiments::WorkPart part;
  std::size_t end = 0;
  try {
    part.index = std::stoul(text, &end);
    if (text.at(end) == '/')
      part.count = std::stoul(text.substr(end + 1));
    if (text.find_first_not_of("0123456789/") != std::string::npos ||
        std::count(text.begin(), text.end(), '/') != 1)
      part.count = 0;
  } catch (const std::exception&) {
    part.count = 0;
  }
  if (part.count == 0 || part.index >= part.count)
    throw UsageError("--part must be K/N with K from 0 to N - 1, got '" + text + "'");
  return part;
}

} // namespace foretrain::cli
