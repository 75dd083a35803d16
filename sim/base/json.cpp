#include "sim/base/json.hpp"

template class nlohmann::detail::serializer<nlohmann::ordered_json>;
template nlohmann::ordered_json::basic_json(const nlohmann::ordered_json&);
template nlohmann::ordered_json::basic_json(
    std::initializer_list<nlohmann::detail::json_ref<nlohmann::ordered_json>>, bool,
    nlohmann::detail::value_t);
template nlohmann::ordered_json::string_t
nlohmann::ordered_json::dump(int, char, bool, nlohmann::ordered_json::error_handler_t) const;
template nlohmann::ordered_json nlohmann::ordered_json::object(
    std::initializer_list<nlohmann::detail::json_ref<nlohmann::ordered_json>>);
template void nlohmann::ordered_json::json_value::destroy(nlohmann::detail::value_t);
