// Transformers of tests: bundled ones, and what an import makes of a config.json.
#pragma once

#include "models/networks/network.hpp"
#include "models/transformer/hf_config.hpp"
#include "models/transformer/spec.hpp"

#include <string>

namespace foretrain::test {

inline models::Transformer preset_transformer(const std::string& name)
{
  return models::load_transformer(resolve_preset(name, models::kNetworkKind)).transformer;
}

inline models::Transformer imported(const std::string& text)
{
  const Value config(parse_document(text, "config.json"));
  return models::load_transformer(
             Value(parse_document(models::import_hf_config(config).dump(), "imported")))
      .transformer;
}

} // namespace foretrain::test
