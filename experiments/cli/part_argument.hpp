// Options of commands whose work other machines may share: --part, --launcher, --sbatch.
#pragma once

#include "experiments/cli/command.hpp"
#include "experiments/run/work_part.hpp"

#include <string>
#include <vector>

namespace foretrain::cli {

struct LauncherArguments {
  std::string part; // K/N; "": all
  std::string launcher = "local";
  std::vector<std::string> sbatch; // options for it
  bool slurm() const { return launcher == "slurm"; }
};

/// `part` says what becomes of a part.
void add_launcher_options(CLI::App& app, LauncherArguments& arguments, const std::string& part);

/// "K/N"; throws UsageError for anything else, and where K is not below N.
experiments::WorkPart part_of(const std::string& text);

} // namespace foretrain::cli
