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
extern template nlohmann::basic_json<nlohmann::ordered_map>::basic_json(
    const nlohmann::ordered_json&);
extern template nlohmann::basic_json<nlohmann::ordered_map>::basic_json(
    std::initializer_list<nlohmann::detail::json_ref<nlohmann::ordered_json>>, bool,
    nlohmann::detail::value_t);
extern template std::string
nlohmann::basic_json<nlohmann::ordered_map>::dump(int, char, bool,
                                                  nlohmann::detail::error_handler_t) const;
extern template nlohmann::ordered_json nlohmann::basic_json<nlohmann::ordered_map>::object(
    std::initializer_list<nlohmann::detail::json_ref<nlohmann::ordered_json>>);
extern template void
    nlohmann::basic_json<nlohmann::ordered_map>::json_value::destroy(nlohmann::detail::value_t);
