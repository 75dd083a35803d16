// JSON Schemas of all kinds of files, written from the same descriptions that read them.
#pragma once

#include "sim/base/catalog.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

std::vector<std::string> schema_names();
/// null when there is no such kind.
Json schema(const std::string& name);
/// Names of the bundled files of a kind, sorted; none where there is no such kind.
std::vector<std::string> bundled_names(const std::string& name);

} // namespace foretrain::experiments
