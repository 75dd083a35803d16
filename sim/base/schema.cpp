#include "sim/base/schema.hpp"

#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain {

namespace detail {

namespace {

// What no machine and no job of today comes near: beyond, arithmetic overflows or work never ends.
// Where a declaration has a limit of its own, that one counts.
struct PhysicalLimit {
  std::string_view kind;
  double most; // SI
};
constexpr PhysicalLimit kPhysicalLimits[] = {{"time", 1e9},
                                             {"size", 1e18},
                                             {"work", 1e24},
                                             {"frequency", 1e12},
                                             {"bandwidth", 1e16},
                                             {"compute rate", 1e21},
                                             {"rate of operations", 1e12}};
constexpr double kMostOfNumber = 1e18;

double physical_limit(std::string_view kind)
{
  const auto* const it =
      std::find_if(std::begin(kPhysicalLimits), std::end(kPhysicalLimits),
                   [&](const PhysicalLimit& limit) { return limit.kind == kind; });
  return it == std::end(kPhysicalLimits) ? kMostOfNumber : it->most;
}

Limits within(Limits limits, double most)
{
  limits.low = std::max(limits.low, -most);
  limits.high = std::min(limits.high, most);
  return limits;
}

// `unit`: of the limits, with a space before it, or "".
void check_range(const Value& value, double number, const Limits& limits,
                 const std::string& unit = "")
{
  if (number < limits.low || (limits.low_open && number == limits.low)) {
    if (limits.low == 0)
      value.fail(fmt::format("must {}, got {}",
                             limits.low_open ? "be greater than zero" : "not be negative",
                             value.shown()));
    value.fail(fmt::format("must be {} {:.9g}{}, got {}",
                           limits.low_open ? "greater than" : "at least", limits.low, unit,
                           value.shown()));
  }
  if (number > limits.high)
    value.fail(fmt::format("must be at most {:.9g}{}, got {}", limits.high, unit, value.shown()));
}

} // namespace

void read(const Value& value, std::string& out, const Limits& limits)
{
  if (!value.json().is_string())
    value.fail("must be a text, got " + value.shown());
  out = value.json().get<std::string>();
  if (limits.one_of.empty() ||
      std::find(limits.one_of.begin(), limits.one_of.end(), out) != limits.one_of.end())
    return;
  value.fail(fmt::format("must be one of {}; got '{}'", joined(limits.one_of), excerpt(out)),
             hint(out, limits.one_of));
}

void read(const Value& value, bool& out, const Limits&)
{
  if (!value.json().is_boolean())
    value.fail("must be true or false, got " + value.shown());
  out = value.json().get<bool>();
}

void read(const Value& value, int& out, const Limits& limits)
{
  if (!value.json().is_number_integer())
    value.fail("must be a whole number, got " + value.shown());
  const auto number = value.json().get<double>();
  check_range(value, number, limits);
  if (std::abs(number) > std::numeric_limits<int>::max())
    value.fail("is out of range, got " + value.shown());
  out = value.json().get<int>();
}

void read(const Value& value, std::uint64_t& out, const Limits&)
{
  if (!value.json().is_number_unsigned())
    value.fail("must be a whole number that is not negative, got " + value.shown());
  out = value.json().get<std::uint64_t>();
}

void read(const Value& value, double& out, const Limits& limits)
{
  if (!value.json().is_number())
    value.fail("must be a number, got " + value.shown());
  out = value.json().get<double>();
  if (!std::isfinite(out))
    value.fail("must be finite, got " + value.shown());
  check_range(value, out, within(limits, kMostOfNumber));
}

double read_quantity(const Value& value, std::span<const Unit> units, std::string_view kind,
                     std::string_view example, const Limits& limits)
{
  if (value.json().is_number())
    value.fail("needs a unit, got " + value.shown(),
               fmt::format("a {} is written like \"{}\"", kind, example));
  if (!value.json().is_string())
    value.fail(fmt::format("must be a {} like \"{}\", got {}", kind, example, value.shown()));
  const auto parsed = parse_quantity(value.json().get<std::string>(), units, kind, example);
  if (!parsed.ok)
    value.fail(parsed.problem, parsed.hint);
  const Limits own = within(limits, physical_limit(kind));
  check_range(value, parsed.si, own, " " + std::string(units.front().name));
  return parsed.si;
}

Json schema_quantity(std::span<const Unit> units, std::string_view kind, std::string_view example,
                     const Limits& limits)
{
  std::string names;
  for (const Unit& unit : units)
    names += (names.empty() ? "" : "|") + std::string(unit.name);
  const Limits own = within(limits, physical_limit(kind));
  // JSON Schema has no limits for texts: these are in the first of the units.
  return {{"type", "string"},
          {"pattern", fmt::format("^ *[+-]?[0-9.]+([eE][+-]?[0-9]+)? *({}) *$", names)},
          {"examples", Json::array({example})},
          {"x-quantity", kind},
          {"x-unit", units.front().name},
          {own.low_open ? "x-exclusiveMinimum" : "x-minimum", own.low},
          {"x-maximum", own.high}};
}

Json schema_number(const char* type, const Limits& limits)
{
  Json schema = {{"type", type}};
  if (std::isfinite(limits.low))
    schema[limits.low_open ? "exclusiveMinimum" : "minimum"] = limits.low;
  if (std::isfinite(limits.high))
    schema["maximum"] = limits.high;
  return schema;
}

Json schema_text(const Limits& limits)
{
  Json schema = {{"type", "string"}};
  if (!limits.one_of.empty())
    schema["enum"] = limits.one_of;
  return schema;
}

Json schema_any(const Limits& limits)
{
  if (limits.preset.empty())
    return Json::object();
  return {{"type", Json::array({"string", "object"})}, {"x-preset", limits.preset}};
}

} // namespace detail

Reader::Reader(Value object) : object_(std::move(object))
{
  if (!object_.json().is_object())
    object_.fail("must be an object, got " + object_.shown());
}

void Reader::format(const std::string& marker)
{
  declared_.emplace_back("format");
  if (!object_.json().contains("format"))
    return;
  const Value found = object_.at("format");
  if (found.json() != marker)
    found.fail("must be \"" + marker + "\", got " + found.shown(), "is this the right file?");
}

void Reader::derived(const std::string& key, double value, const char* doc)
{
  double found = value;
  required(key, found, doc);
  if (missing_.empty() && std::abs(found - value) > 1e-9 * std::abs(value))
    object_.fail_at(key, fmt::format("must be {:.10g} by the keys beside it, got {}", value,
                                     object_.at(key).shown()));
}

void Reader::finish() const
{
  for (const auto& item : object_.json().items()) {
    if (std::find(declared_.begin(), declared_.end(), item.key()) != declared_.end())
      continue;
    for (const auto& [key, instead] : removed_)
      if (key == item.key())
        object_.fail_at(key, "is no longer a key", instead + " tells it now");
    for (const auto& [letters, key] : abbreviated_)
      if (lower_case(item.key()) == letters)
        object_.fail_at(item.key(), "is not a known key", fmt::format("did you mean '{}'?", key));
    object_.fail_at(item.key(), "is not a known key",
                    suggestion(item.key(), declared_, "keys here"));
  }
  if (missing_.empty())
    return;
  const std::span others = std::span(missing_).subspan(1);
  const std::string hint =
      others.empty() ? "" : fmt::format("also missing here: {}", fmt::join(others, ", "));
  object_.fail_at(missing_.front(), "is missing", hint);
}

void SchemaWriter::format(const std::string& marker)
{
  properties_["format"] = {{"const", marker},
                           {"description", "kind and version of this file; optional"}};
}

Json SchemaWriter::finish() const
{
  Json properties = properties_;
  properties["source"] = {{"description", "where the numbers come from"}};
  properties["notes"] = {{"description", "free text"}};
  if (properties_.contains("format") && !properties.contains("spread"))
    properties["spread"] = {
        {"type", "object"},
        {"additionalProperties", {{"type", "number"}, {"minimum", 0}}},
        {"description", "JSON pointer of a value in here -> its relative standard deviation"}};
  Json schema = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required_.empty())
    schema["required"] = required_;
  return schema;
}

} // namespace foretrain
