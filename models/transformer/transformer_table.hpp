// Transformers as text and JSON, for `foretrain model list` and `show`.
#pragma once

#include "models/transformer/counts.hpp"

#include <string>

namespace foretrain::models {

/// One line for each bundled transformer, under a line of headings.
std::string transformer_list_text();
Json transformer_list_json();

std::string transformer_text(const TransformerFile& file);
Json transformer_json(const TransformerFile& file);

} // namespace foretrain::models
