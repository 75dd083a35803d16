// All bundled presets of a kind, with what they stand for.
#pragma once

#include "sim/base/catalog.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

struct PresetLine {
  std::string name;
  std::vector<std::string> aliases;
  std::string description; // the file's, or its name in words
};

/// Kinds that have bundled files: "framework", "gpu" ...
std::vector<std::string> listed_kinds();

/// Of a kind, by name; "frameworks" is "framework". Throws UsageError with the nearest kind where
/// there is none of that name.
std::vector<PresetLine> preset_list(const std::string& kind);

std::string preset_list_text(const std::vector<PresetLine>& lines);
Json preset_list_json(const std::vector<PresetLine>& lines);

/// Each kind with the number of its files, and what such a file is.
std::string listed_kinds_text();

} // namespace foretrain::experiments
