// Tables of operators with measured times: CSV, or JSON as a list of objects.
#pragma once

#include "sim/base/document.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::models {

struct ImportedTable {
  Json measured; // of a network file
  std::vector<std::string> notes;
};

/// Columns (keys) `name` and `time`, and where there are any `count`, `class` (product, memory),
/// `phase` (forward, backward, optimizer), `bytes` (moved, for people). `time` is that of one call,
/// `total` that of all; the unit stands in the header ("time_us", "Total Time (ns)") or behind each
/// value. So does what `nsys stats --format csv` prints, which sums up all `steps` that were
/// recorded. Rows without a phase are forward, rows without a class go by their names. Copies and
/// collectives are left out, and told. Throws ConfigError naming the row.
ImportedTable import_operator_table(const std::filesystem::path& path,
                                    std::optional<int> batch = {}, std::optional<int> steps = {});

/// Whether a file's first bytes are such a table: a header or an object with a name and a time.
bool looks_like_operator_table(const std::string& head);

} // namespace foretrain::models
