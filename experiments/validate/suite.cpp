#include "experiments/validate/suite.hpp"

#include "experiments/spec/profiles.hpp"
#include "sim/base/catalog.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <iterator>

namespace foretrain::experiments {

namespace {

constexpr MeasuredUnit kUnits[] = {
    {"samples/s", 1}, {"images/s", 1}, {"tokens/s", 1},  {"s", 1},
    {"ms", 1e-3},     {"us", 1e-6},    {"x", 1},         {"%", 0.01},
    {"GB/s", 1e9},    {"MB/s", 1e6},   {"Gb/s", 1.25e8},
};

} // namespace

const MeasuredUnit& measured_unit(const std::string& name)
{
  const auto* const it = std::find_if(std::begin(kUnits), std::end(kUnits),
                                      [&](const MeasuredUnit& unit) { return name == unit.name; });
  return it == std::end(kUnits) ? kUnits[0] : *it;
}

bool fits(const std::string& quantity, const std::string& unit)
{
  const bool rate = quantity.find("_per_s") != std::string::npos;
  const bool time = !rate && (quantity.ends_with("_s") || quantity.starts_with("/time_s"));
  if (rate && quantity.find("tokens") != std::string::npos)
    return unit == "tokens/s";
  if (rate && quantity.find("samples") != std::string::npos)
    return unit == "samples/s" || unit == "images/s";
  if (rate)
    return unit == "GB/s" || unit == "MB/s" || unit == "Gb/s";
  if (time)
    return unit == "s" || unit == "ms" || unit == "us";
  return unit == "x" || unit == "%";
}

std::vector<std::string> measured_unit_names()
{
  std::vector<std::string> names;
  for (const MeasuredUnit& unit : kUnits)
    names.emplace_back(unit.name);
  return names;
}

SuiteSpec load_suite(const std::string& name_or_path, const std::vector<std::string>& profiles)
{
  Profiles laid;
  for (const std::string& profile : profiles)
    laid.add(profile);
  const Value root = resolve_preset(name_or_path, kSuiteKind, laid.overlay);
  auto suite = read_as<SuiteSpec>(root);
  suite.origin = root;
  if (suite.name.empty())
    suite.name = root.document()->path.stem().string();
  if (suite.experiments && !suite.experiments.json().is_object())
    suite.experiments.fail("must be an object of names and experiments, got " +
                           suite.experiments.shown());
  if (suite.rows.empty() && suite.tables.empty() && suite.copies.empty() && suite.kernels.empty())
    root.fail("holds no measurement", "give it \"rows\", \"tables\", \"copies\" or \"kernels\"");
  return suite;
}

} // namespace foretrain::experiments
