#include "experiments/cli/command.hpp"
#include "experiments/cli/model_import.hpp"
#include "models/networks/network_table.hpp"
#include "models/transformer/hf_config.hpp"
#include "models/transformer/transformer_table.hpp"

#include <iostream>

namespace foretrain::cli {

std::function<int()> model(CLI::App& app)
{
  const auto name = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  const auto action = std::make_shared<std::function<int()>>();
  app.require_subcommand(1);
  CLI::App* list = app.add_subcommand("list", "all bundled networks with their totals");
  CLI::App* show = app.add_subcommand("show", "the layers of a network");
  show->add_option("MODEL", *name, "name or file of a network")->required();
  for (CLI::App* sub : {list, show})
    sub->add_flag("--json", *json, "as JSON");
  list->callback([json, action] {
    *action = [json] {
      if (*json) {
        Json all = models::network_list_json();
        for (Json& transformer : models::transformer_list_json())
          all.push_back(std::move(transformer));
        std::cout << all.dump(2) << "\n";
      } else {
        std::cout << models::network_list_text() << "\n" << models::transformer_list_text();
      }
      return static_cast<int>(done);
    };
  });
  show->callback([name, json, action] {
    *action = [name, json] {
      const Value preset = resolve_preset(*name, models::kNetworkKind);
      models::refuse_hf_config(preset);
      if (models::is_transformer(preset)) {
        const auto file = models::load_transformer(preset);
        std::cout << (*json ? models::transformer_json(file).dump(2) + "\n"
                            : models::transformer_text(file));
        return static_cast<int>(done);
      }
      const auto network = models::load_network(preset);
      std::cout << (*json ? models::network_json(network).dump(2) + "\n"
                          : models::network_text(network));
      return static_cast<int>(done);
    };
  });
  add_model_import(app, action);
  return [action] { return (*action)(); };
}

} // namespace foretrain::cli
