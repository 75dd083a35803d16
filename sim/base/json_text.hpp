// JSON values as people read them.
#pragma once

#include "sim/base/json.hpp"

#include <optional>
#include <string>

namespace foretrain {

/// Texts without quotes, the rest as compact JSON.
std::string value_text(const Json& value);

/// The number at a pointer, or its median if it is a range.
std::optional<double> number_at(const Json& json, const char* pointer);
/// The value at a pointer as text; empty if there is none.
std::string text_at(const Json& json, const char* pointer);
/// A list at a key of an object; empty if there is none.
const Json& list_at(const Json& json, const char* key);

} // namespace foretrain
