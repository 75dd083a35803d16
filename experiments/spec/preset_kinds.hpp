// The kinds of presets that may be named inside an experiment. A new kind: its struct with
// describe(), and one line in preset_kinds.cpp.
#pragma once

#include "sim/base/catalog.hpp"

#include <span>
#include <string>
#include <vector>

namespace foretrain::experiments {

struct PresetKindEntry {
  const char* name;
  const char* doc;  // what such a file is
  Json (*schema)(); // JSON Schema of its files
  const PresetKind* kind;
};

std::span<const PresetKindEntry> preset_kinds();

std::vector<std::string> preset_kind_names();
/// nullptr for a name that is none of theirs.
const PresetKind* preset_kind(const std::string& name);
/// Schema of the preset at a kind of that name; throws std::logic_error for one that is not there.
const Json& preset_schema(const std::string& name);
/// What it says of the value at a pointer, through lists; nullptr where it knows none.
const Json* schema_at(const std::string& name, const std::string& pointer);

} // namespace foretrain::experiments
