// Members of JSON logs, with the place of what is missing or of the wrong kind.
#pragma once

#include "sim/base/document.hpp"

namespace foretrain::calibration {

Value log_member(const Value& object, const std::string& key);
Value log_list(const Value& object, const std::string& key);
std::string log_text(const Value& object, const std::string& key);
/// A finite number, at least `low`.
double log_number(const Value& object, const std::string& key, double low = 0);

} // namespace foretrain::calibration
