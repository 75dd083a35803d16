// JSON Schemas of all kinds of files, written from the same descriptions that read them.
#pragma once

#include "sim/base/catalog.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

std::vector<std::string> schema_names();
/// null when there is no such kind.
Json schema(const std::string& name);

} // namespace foretrain::experiments
