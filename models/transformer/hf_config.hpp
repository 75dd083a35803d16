// Reads config.json of Hugging Face transformers.
#pragma once

#include "models/transformer/spec.hpp"

namespace foretrain::models {

/// Whether an object looks like such a file: it has a "model_type".
bool is_hf_config(const Json& config);

/// Throws ConfigError, with what to do, for such a file where a model is asked for.
void refuse_hf_config(const Value& model);

/// A model file (docs/networks.md) for the model that it describes. Throws ConfigError for kinds of
/// models that are not known, with the nearest one, and for sizes that are missing.
Json import_hf_config(const Value& config);

/// What of the configuration is not in that file, in words.
std::vector<std::string> left_out_of_hf_config(const Value& config);

/// Kinds that are known: "llama", "mixtral" ...
std::vector<std::string> hf_model_types();

} // namespace foretrain::models
