// What can be named in a file: the bundled presets of each kind.
#include "experiments/api/preset_list.hpp"
#include "experiments/cli/command.hpp"

#include <iostream>

namespace foretrain::cli {

std::function<int()> list(CLI::App& app)
{
  const auto kind = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  app.add_option("KIND", *kind, "kind of preset, like framework or gpu; default: the kinds");
  app.add_flag("--json", *json, "as JSON");
  return [kind, json] {
    if (kind->empty() && *json)
      std::cout << Json(experiments::listed_kinds()).dump(2) << "\n";
    else if (kind->empty())
      std::cout << experiments::listed_kinds_text();
    else if (const auto lines = experiments::preset_list(*kind); *json)
      std::cout << experiments::preset_list_json(lines).dump(2) << "\n";
    else
      std::cout << experiments::preset_list_text(lines);
    return static_cast<int>(done);
  };
}

} // namespace foretrain::cli
