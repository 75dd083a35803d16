// JSON in memory: objects keep the order of their keys.
//
// What nearly every file would compile again, writing and copying of values, is compiled once, in
// json.cpp.
#pragma once

#include <nlohmann/json.hpp>

namespace foretrain {
using Json = nlohmann::ordered_json;
} // namespace foretrain

extern template class nlohmann::detail::serializer<nlohmann::ordered_json>;
extern template nlohmann::ordered_json::basic_json(const nlohmann::ordered_json&);
extern template nlohmann::ordered_json::basic_json(
    std::initializer_list<nlohmann::detail::json_ref<nlohmann::ordered_json>>, bool,
    nlohmann::detail::value_t);
extern template nlohmann::ordered_json::string_t
nlohmann::ordered_json::dump(int, char, bool, nlohmann::ordered_json::error_handler_t) const;
extern template nlohmann::ordered_json nlohmann::ordered_json::object(
    std::initializer_list<nlohmann::detail::json_ref<nlohmann::ordered_json>>);
extern template void nlohmann::ordered_json::json_value::destroy(nlohmann::detail::value_t);
