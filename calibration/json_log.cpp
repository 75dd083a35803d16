#include "calibration/json_log.hpp"

#include <cmath>

#include <fmt/format.h>

namespace foretrain::calibration {

Value log_member(const Value& object, const std::string& key)
{
  if (!object.json().is_object())
    object.fail("must be an object, got " + object.shown());
  if (!object.json().contains(key))
    object.fail_at(key, "is missing", "is the file complete?");
  return object.at(key);
}

Value log_list(const Value& object, const std::string& key)
{
  Value value = log_member(object, key);
  if (!value.json().is_array())
    value.fail("must be a list, got " + value.shown());
  return value;
}

std::string log_text(const Value& object, const std::string& key)
{
  const Value value = log_member(object, key);
  if (!value.json().is_string())
    value.fail("must be a text, got " + value.shown());
  return value.json().get<std::string>();
}

double log_number(const Value& object, const std::string& key, double low)
{
  const Value value = log_member(object, key);
  const double number = value.json().is_number() ? value.json().get<double>() : NAN;
  if (!std::isfinite(number) || number < low)
    value.fail(fmt::format("must be a number of at least {:g}, got {}", low, value.shown()));
  return number;
}

} // namespace foretrain::calibration
