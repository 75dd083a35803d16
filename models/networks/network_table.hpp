// Networks as tables for people and as JSON for programs: `foretrain model list` and `model show`.
#pragma once

#include "models/networks/network.hpp"

#include <string>

namespace foretrain::models {

/// One line per layer, then the totals.
std::string network_text(const Network& network);
Json network_json(const Network& network);

/// One line per network preset.
std::string network_list_text();
Json network_list_json();

} // namespace foretrain::models
