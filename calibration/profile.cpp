#include "calibration/profile.hpp"

#include "calibration/correlated.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace foretrain::calibration {

namespace {

Measure number_in(const Value& value)
{
  if (value.json().is_number())
    return {value.json().get<double>(), "", 1};
  std::optional<Measure> measure;
  if (value.json().is_string())
    measure = parse_measure(value.json().get<std::string>());
  if (!measure)
    value.fail("must be a number, or a text with number and unit like \"12.5 GB/s\", got " +
               value.shown());
  return *measure;
}

bool holds(std::span<const Unit> units, std::string_view name)
{
  return std::any_of(units.begin(), units.end(),
                     [&](const Unit& unit) { return unit.name == name; });
}

template <class... Quantities>
bool share_a_table(std::string_view a, std::string_view b)
{
  return ((holds(UnitsOf<Quantities>::units(), a) && holds(UnitsOf<Quantities>::units(), b)) ||
          ...);
}

// Whether two units are of one kind of quantity, like "us" and "ms".
bool of_one_kind(std::string_view a, std::string_view b)
{
  return a == b ||
         share_a_table<Seconds, Bytes, Flops, Hertz, BytesPerSecond, FlopsPerSecond, PerSecond>(a,
                                                                                                b);
}

void check_parameter(const ProfileParameter& p, const Value& at)
{
  if (p.pointer.empty() || p.pointer.front() != '/')
    at.at("pointer").fail("must be a JSON pointer into the preset, like /memory_efficiency");
  const Measure value = number_in(p.value);
  if (!p.spread)
    return;
  const Measure spread = number_in(p.spread);
  if (spread.unit.empty() != value.unit.empty())
    p.spread.fail(fmt::format("must have a unit exactly when the value has one: {} beside {}",
                              p.spread.shown(), p.value.shown()));
  if (!of_one_kind(spread.unit, value.unit))
    p.spread.fail(fmt::format("must be of the kind of the value: {} beside {}", p.spread.shown(),
                              p.value.shown()));
  if (!(spread.si() >= 0))
    p.spread.fail("must not be negative, got " + p.spread.shown());
  if (value.si() == 0 && spread.si() > 0)
    p.spread.fail("must be zero beside a value of zero");
}

void check_correlation(const ProfileCorrelation& c, const Profile& profile, const Value& at)
{
  const int count = static_cast<int>(profile.parameters.size());
  for (const char* key : {"a", "b"}) {
    const int index = *key == 'a' ? c.a : c.b;
    if (index >= count)
      at.at(key).fail(fmt::format("is {}, but there are {} parameters", index, count));
  }
  if (c.a == c.b)
    at.fail("must be of two different parameters");
}

// Correlations that no quantities can have together, as when a goes with b and b with c but a
// against c.
void check_possible(const Profile& profile, const Value& root)
{
  if (profile.correlations.empty())
    return;
  std::map<int, std::size_t> places; // of the parameters that are correlated
  for (const ProfileCorrelation& c : profile.correlations)
    for (const int index : {c.a, c.b})
      places.emplace(index, places.size());
  std::vector<std::vector<double>> matrix(places.size(), std::vector<double>(places.size(), 0));
  for (std::size_t i = 0; i < matrix.size(); ++i)
    matrix[i][i] = 1;
  for (const ProfileCorrelation& c : profile.correlations)
    matrix[places[c.a]][places[c.b]] = matrix[places[c.b]][places[c.a]] = c.value;
  // Rounded to three digits, as profiles hold them, n of them may be off by n / 2000 together.
  if (smallest_eigenvalue(matrix) < -1e-3 * static_cast<double>(matrix.size()))
    root.at("correlations").fail("cannot all hold: no quantities vary together like that");
}

template <class T, class Write>
void put(Json& json, const char* key, const std::vector<T>& list, const Write& write)
{
  if (list.empty())
    return;
  json[key] = Json::array();
  for (const T& it : list)
    json[key].push_back(write(it));
}

Json parameter_json(const ProfileParameter& p)
{
  Json json = {
      {"kind", p.kind}, {"preset", p.preset}, {"pointer", p.pointer}, {"value", p.value.json()}};
  if (p.spread)
    json["spread"] = p.spread.json();
  if (!p.source.empty())
    json["source"] = p.source;
  if (p.residuals)
    json["residuals"] = {{"measurements", p.residuals->measurements},
                         {"mean", p.residuals->mean},
                         {"maximum", p.residuals->maximum}};
  put(json, "valid", p.valid, [](const ProfileRange& r) {
    return Json{{"of", r.of}, {"from", r.from.json()}, {"to", r.to.json()}};
  });
  return json;
}

} // namespace

Profile read_profile(const Value& root)
{
  auto profile = read_as<Profile>(root);
  profile.origin = root;
  for (std::size_t i = 0; i < profile.parameters.size(); ++i)
    check_parameter(profile.parameters[i], root.at("parameters").at(i));
  for (std::size_t i = 0; i < profile.correlations.size(); ++i)
    check_correlation(profile.correlations[i], profile, root.at("correlations").at(i));
  check_possible(profile, root);
  return profile;
}

Json to_json(const Profile& profile)
{
  Json json = {{"format", "foretrain.profile/1"}};
  if (!profile.name.empty())
    json["name"] = profile.name;
  if (!profile.made_by.empty())
    json["made_by"] = profile.made_by;
  put(json, "logs", profile.logs, [](const ProfileLog& log) {
    return Json{
        {"file", log.file}, {"kind", log.kind}, {"digest", log.digest}, {"taught", log.taught}};
  });
  json["parameters"] = Json::array();
  for (const ProfileParameter& p : profile.parameters)
    json["parameters"].push_back(parameter_json(p));
  put(json, "correlations", profile.correlations, [](const ProfileCorrelation& c) {
    return Json{{"a", c.a}, {"b", c.b}, {"value", c.value}};
  });
  put(json, "refused", profile.refused, [](const ProfileRefusal& r) {
    return Json{{"parameter", r.parameter}, {"reason", r.reason}, {"measurement", r.measurement}};
  });
  put(json, "outliers", profile.outliers, [](const ProfileOutlier& o) {
    return Json{{"where", o.where}, {"what", o.what}};
  });
  return json;
}

double relative_spread(const ProfileParameter& parameter)
{
  if (!parameter.spread)
    return 0;
  const double value = number_in(parameter.value).si();
  return value == 0 ? 0 : std::abs(number_in(parameter.spread).si() / value);
}

} // namespace foretrain::calibration
