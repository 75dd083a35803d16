// foretrain program show EXPERIMENT: a point's jobs as work programs.
#include "experiments/answers/programs.hpp"
#include "experiments/cli/command.hpp"

#include <cstdio>

namespace foretrain::cli {

std::function<int()> program(CLI::App& app)
{
  app.require_subcommand(1);
  auto* show = app.add_subcommand("show", "ranks, groups and operations of a point's jobs");
  auto file = std::make_shared<std::string>();
  auto point = std::make_shared<int>(0);
  auto format = std::make_shared<std::string>("table");
  auto overrides = std::make_shared<std::vector<std::string>>();
  show->add_option("EXPERIMENT", *file, "experiment file, or the name of a bundled one")
      ->required();
  show->add_option("--point", *point, "which point of its sweep, counted from 0");
  show->add_option("--set", *overrides, "POINTER=VALUE: another value in the file")
      ->allow_extra_args(false);
  show->add_option("--format", *format, "table, or json with every operation")
      ->check(CLI::IsMember({"table", "json"}));
  return [=] {
    const auto loaded = experiments::load_experiment(*file, *overrides);
    const Json programs = experiments::programs_of(loaded, *point);
    const std::string text =
        *format == "json" ? programs.dump(1) + "\n" : experiments::program_text(programs);
    std::fputs(text.c_str(), stdout);
    return 0;
  };
}

} // namespace foretrain::cli
