#include "sim/base/json.hpp"

template class nlohmann::detail::serializer<nlohmann::ordered_json>;
template nlohmann::basic_json<nlohmann::ordered_map>::basic_json(const nlohmann::ordered_json&);
template nlohmann::basic_json<nlohmann::ordered_map>::basic_json(
    std::initializer_list<nlohmann::detail::json_ref<nlohmann::ordered_json>>, bool,
    nlohmann::detail::value_t);
template std::string
nlohmann::basic_json<nlohmann::ordered_map>::dump(int, char, bool,
                                                  nlohmann::detail::error_handler_t) const;
template nlohmann::ordered_json nlohmann::basic_json<nlohmann::ordered_map>::object(
    std::initializer_list<nlohmann::detail::json_ref<nlohmann::ordered_json>>);
template void
    nlohmann::basic_json<nlohmann::ordered_map>::json_value::destroy(nlohmann::detail::value_t);
