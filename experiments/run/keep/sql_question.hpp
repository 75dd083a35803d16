// Questions in SQL to a file of results, which they cannot change.
#pragma once

#include "experiments/run/keep/sqlite_file.hpp"
#include "sim/base/units.hpp"

#include <vector>

namespace foretrain::experiments {

/// ResultStore::ask.
std::vector<std::vector<std::string>> ask_file(const SqliteFile& file, const std::string& sql,
                                               Seconds patience);

} // namespace foretrain::experiments
