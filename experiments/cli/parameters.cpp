// The numbers behind every prediction, with spread and source.
#include "experiments/api/parameter_table.hpp"
#include "experiments/cli/command.hpp"

#include <iostream>

namespace foretrain::cli {

std::function<int()> parameters(CLI::App& app)
{
  struct Arguments {
    std::string kind;
    std::string preset;
    std::string format = "table";
  };
  const auto a = std::make_shared<Arguments>();
  app.add_option("KIND", a->kind, "kind of preset, like gpu or library, or profile; default all");
  app.add_option("NAME", a->preset, "one preset of that kind, by name or path; default all");
  app.add_option("--format", a->format, "table or json")->check(CLI::IsMember({"table", "json"}));
  return [a] {
    const auto rows = experiments::parameter_table(a->kind, a->preset);
    if (a->format == "json")
      std::cout << experiments::parameter_json(rows).dump(2) << "\n";
    else
      std::cout << experiments::parameter_text(rows);
    return static_cast<int>(done);
  };
}

} // namespace foretrain::cli
