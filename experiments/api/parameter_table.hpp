// Every number in the bundled presets and profiles, with its spread and source.
#pragma once

#include "sim/base/document.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

struct ParameterRow {
  std::string kind;
  std::string preset;
  std::string pointer;
  std::string value;
  double spread = 0; // relative standard deviation; 0: taken as exact
  std::string source;
};

/// Rows of one kind of preset ("profile" for profiles; "" for all kinds) and of one preset of it
/// ("" for all). Throws UsageError with the nearest name for unknown ones. Layers of networks are
/// no parameters: they are not in it.
std::vector<ParameterRow> parameter_table(const std::string& kind, const std::string& preset);

std::string parameter_text(const std::vector<ParameterRow>& rows);
Json parameter_json(const std::vector<ParameterRow>& rows);

} // namespace foretrain::experiments
