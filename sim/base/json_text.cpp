#include "sim/base/json_text.hpp"

namespace foretrain {

std::string value_text(const Json& value)
{
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<double> number_at(const Json& json, const char* pointer)
{
  const Json::json_pointer at(pointer);
  if (!json.contains(at))
    return std::nullopt;
  const Json& value = json.at(at);
  if (value.is_object() && value.contains("median"))
    return number_at(value, "/median");
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::string text_at(const Json& json, const char* pointer)
{
  const Json::json_pointer at(pointer);
  return json.contains(at) && !json.at(at).is_null() ? value_text(json.at(at)) : "";
}

const Json& list_at(const Json& json, const char* key)
{
  static const Json kEmptyList = Json::array();
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_array() ? *found : kEmptyList;
}

} // namespace foretrain
