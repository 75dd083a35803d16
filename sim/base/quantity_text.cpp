#include "sim/base/quantity_text.hpp"

#include "sim/base/text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace foretrain {

namespace {

constexpr double kKi = 1024.0;

constexpr Unit kTime[] = {{"s", 1},        {"ms", 1e-3},        {"us", 1e-6},
                          {"ns", 1e-9},    {"min", 60},         {"h", 3600},
                          {"hours", 3600}, {"d", 86400},        {"day", 86400},
                          {"days", 86400}, {"week", 7 * 86400}, {"weeks", 7 * 86400}};
constexpr Unit kBytes[] = {{"B", 1},
                           {"kB", 1e3},
                           {"MB", 1e6},
                           {"GB", 1e9},
                           {"TB", 1e12},
                           {"KiB", kKi},
                           {"MiB", kKi* kKi},
                           {"GiB", kKi* kKi* kKi},
                           {"TiB", kKi* kKi* kKi* kKi}};
constexpr Unit kRate[] = {
    {"B/s", 1},         {"kB/s", 1e3},       {"MB/s", 1e6},       {"GB/s", 1e9},
    {"TB/s", 1e12},     {"KiB/s", kKi},      {"MiB/s", kKi* kKi}, {"GiB/s", kKi* kKi* kKi},
    {"b/s", 0.125},     {"kb/s", 0.125e3},   {"Mb/s", 0.125e6},   {"Gb/s", 0.125e9},
    {"Tb/s", 0.125e12}, {"Mbit/s", 0.125e6}, {"Gbit/s", 0.125e9}};
constexpr Unit kFlops[] = {{"FLOP", 1}, {"MFLOP", 1e6}, {"GFLOP", 1e9}, {"TFLOP", 1e12}};
constexpr Unit kFlopRate[] = {{"FLOP/s", 1},     {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12},
                              {"PFLOP/s", 1e15}, {"GFLOPS", 1e9},  {"TFLOPS", 1e12},
                              {"PFLOPS", 1e15}};
constexpr Unit kHertz[] = {{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}};
constexpr Unit kPerSecond[] = {{"/s", 1}, {"k/s", 1e3}, {"M/s", 1e6}, {"IOPS", 1}, {"kIOPS", 1e3}};

std::string scaled(double value, std::span<const Unit> units)
{
  const Unit* best = &units.front();
  for (const Unit& unit : units)
    if (std::abs(value) >= unit.si && unit.si >= best->si)
      best = &unit;
  return fmt::format("{:.4g} {}", value / best->si, best->name);
}

} // namespace

#define FORETRAIN_UNITS(TYPE, TABLE, KIND, EXAMPLE)                                                \
  std::span<const Unit> UnitsOf<TYPE>::units()                                                     \
  {                                                                                                \
    return TABLE;                                                                                  \
  }                                                                                                \
  std::string_view UnitsOf<TYPE>::kind()                                                           \
  {                                                                                                \
    return KIND;                                                                                   \
  }                                                                                                \
  std::string_view UnitsOf<TYPE>::example()                                                        \
  {                                                                                                \
    return EXAMPLE;                                                                                \
  }
FORETRAIN_UNITS(Seconds, kTime, "time", "1.5 us")
FORETRAIN_UNITS(Bytes, kBytes, "size", "64 MiB")
FORETRAIN_UNITS(Flops, kFlops, "work", "4 GFLOP")
FORETRAIN_UNITS(Hertz, kHertz, "frequency", "2.4 GHz")
FORETRAIN_UNITS(BytesPerSecond, kRate, "bandwidth", "12.5 GB/s")
FORETRAIN_UNITS(FlopsPerSecond, kFlopRate, "compute rate", "15.7 TFLOP/s")
FORETRAIN_UNITS(PerSecond, kPerSecond, "rate of operations", "250 kIOPS")
#undef FORETRAIN_UNITS

ParsedQuantity parse_quantity(std::string_view text, std::span<const Unit> units,
                              std::string_view kind, std::string_view example)
{
  const std::string form = fmt::format("a {} is written like \"{}\"", kind, example);
  const std::size_t start = text.find_first_not_of(' ');
  if (start == std::string_view::npos)
    return {false, 0, "is empty", form};
  std::string_view rest = text.substr(start);
  if (rest.starts_with('+') && !rest.starts_with("+-"))
    rest.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || !std::isfinite(number))
    return {false, 0, fmt::format("must begin with a finite number, got \"{}\"", excerpt(text)),
            form};
  std::string_view name(end, static_cast<std::size_t>(rest.data() + rest.size() - end));
  while (!name.empty() && name.front() == ' ')
    name.remove_prefix(1);
  while (!name.empty() && name.back() == ' ')
    name.remove_suffix(1);
  if (name.empty())
    return {false, 0, fmt::format("needs a unit, got \"{}\"", excerpt(text)), form};
  std::vector<std::string> names;
  for (const Unit& unit : units) {
    if (unit.name == name) {
      const double si = number * unit.si;
      if (!std::isfinite(si))
        return {false, 0, fmt::format("is out of range, got \"{}\"", excerpt(text)), form};
      return {true, si, "", ""};
    }
    names.emplace_back(unit.name);
  }
  return {false, 0,
          fmt::format("has a unit that is not a {}: '{}' in \"{}\"", kind, excerpt(name, 20),
                      excerpt(text)),
          "allowed units: " + joined(names)};
}

std::optional<Measure> parse_measure(std::string_view text)
{
  static constexpr std::array<std::span<const Unit>, 7> kAll = {
      kTime, kBytes, kRate, kFlops, kHertz, kFlopRate, kPerSecond};
  for (const auto units : kAll) {
    const auto parsed = parse_quantity(text, units, "", "");
    if (!parsed.ok)
      continue;
    const std::size_t end = text.find_last_not_of(' ');
    const std::size_t begin = text.find_last_of(" 0123456789.", end) + 1;
    const std::string_view name = text.substr(begin, end + 1 - begin);
    for (const Unit& unit : units)
      if (unit.name == name)
        return Measure{parsed.si / unit.si, unit.name, unit.si};
  }
  return {};
}

std::string to_text(const Measure& measure)
{
  return fmt::format("{:.9g}{}{}", measure.value, measure.unit.empty() ? "" : " ", measure.unit);
}

std::string to_text(Seconds value)
{
  static constexpr std::array<Unit, 4> units = {
      {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  return scaled(value.value(), units);
}

std::string to_text(Bytes value)
{
  static constexpr std::array<Unit, 5> decimal = {
      {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}};
  static constexpr std::array<Unit, 3> binary = {
      {{"KiB", kKi}, {"MiB", kKi * kKi}, {"GiB", kKi * kKi * kKi}}};
  const double bytes = value.value();
  if (bytes >= kKi && std::fmod(bytes, kKi) == 0) {
    std::string text = scaled(bytes, binary);
    if (parse_measure(text)->si() == bytes && text.find('.') == std::string::npos &&
        text.find('e') == std::string::npos)
      return text;
  }
  return scaled(bytes, decimal);
}

std::string gigabytes_text(Bytes value)
{
  return fmt::format("{:.4g} GB", value.value() / 1e9);
}

std::string to_text(BytesPerSecond value)
{
  static constexpr std::array<Unit, 5> units = {
      {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}}};
  return scaled(value.value(), units);
}

std::string to_text(FlopsPerSecond value)
{
  static constexpr std::array<Unit, 3> units = {
      {{"FLOP/s", 1}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}}};
  return scaled(value.value(), units);
}

std::string to_text(Flops value)
{
  return scaled(value.value(), kFlops);
}

std::string to_text(Hertz value)
{
  return scaled(value.value(), kHertz);
}

std::string to_text(PerSecond value)
{
  static constexpr std::array<Unit, 3> units = {{{"/s", 1}, {"k/s", 1e3}, {"M/s", 1e6}}};
  return scaled(value.value(), units);
}

} // namespace foretrain
