// YAML 1.2 as JSON: the same values, and where each stands.
//
// Scalars without quotes follow the core schema: null, true and false, whole numbers (also 0o17 and
// 0x1f), decimals; all else is text, `no` and `1:30` too. What readers of YAML 1.1 and 1.2 take for
// different numbers (010) is refused, as JSON refuses it. Anchors, aliases and merge keys (<<) are
// resolved; they may not make more than 1,000,000 values of a file.
#pragma once

#include "sim/base/json.hpp"

#include <functional>
#include <string>

namespace foretrain {

/// Whether a text of that name is YAML: called .yaml or .yml, or not called .json and beginning
/// with no bracket and no quote.
bool is_yaml(const std::string& text, const std::string& name);

/// Told for each value: its JSON pointer, and "line:col" of the value and of its key ("" where
/// there is none).
using Placed = std::function<void(const std::string& pointer, const std::string& value,
                                  const std::string& key)>;

/// Throws ConfigError with name:line:col.
Json parse_yaml(const std::string& text, const std::string& name, const Placed& placed);

} // namespace foretrain
