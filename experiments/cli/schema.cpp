#include "experiments/api/schemas.hpp"
#include "experiments/cli/command.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <iostream>

namespace foretrain::cli {

std::function<int()> schema(CLI::App& app)
{
  const auto name = std::make_shared<std::string>();
  const auto list = std::make_shared<bool>(false);
  const auto presets = std::make_shared<bool>(false);
  app.add_option("NAME", *name, "kind of file: " + joined(experiments::schema_names()));
  app.add_flag("--list", *list, "print the kinds, one a line");
  app.add_flag("--presets", *presets, "print the names of bundled files of that kind, one a line");
  return [name, list, presets] {
    if (*list) {
      std::cout << joined(experiments::schema_names(), "\n") << "\n";
      return static_cast<int>(done);
    }
    const Json schema = experiments::schema(*name);
    if (schema.is_null())
      throw UsageError("'" + excerpt(*name) + "' is not a kind of file\n  hint: " +
                       suggestion(*name, experiments::schema_names(), "kinds"));
    if (*presets)
      for (const std::string& preset : experiments::bundled_names(*name))
        std::cout << preset << "\n";
    else
      std::cout << schema.dump(2) << "\n";
    return static_cast<int>(done);
  };
}

} // namespace foretrain::cli
