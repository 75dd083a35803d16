#include "experiments/answers/compare_sides.hpp"

#include "experiments/run/keep/result_json.hpp"
#include "experiments/run/keep/result_store.hpp"
#include "experiments/spec/file_kind.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr const char* kWhich = "experiment"; // pseudo-setting of stores that hold several

std::string result_file(const std::string& path)
{
  return std::filesystem::is_directory(path) ? path + "/result.json" : path;
}

// The experiment as it was for one point.
Json input_of_point(Json input, const Json& settings)
{
  input.erase("sweep");
  for (const auto& setting : settings.items())
    try {
      input[Json::json_pointer(setting.key())] = setting.value();
    } catch (const Json::exception&) { // a hand-made file; the setting is told all the same
      continue;
    }
  return input;
}

std::set<std::string> pointers_varied(const CompareSide& a, const CompareSide& b)
{
  std::set<std::string> pointers;
  for (const CompareSide* side : {&a, &b})
    for (const ComparedPoint& point : side->points)
      for (const auto& setting : point.settings.items())
        pointers.insert(setting.key());
  return pointers;
}

} // namespace

SideKind kind_of_side(const std::string& path)
{
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return std::filesystem::exists(path + "/result.json", error) ? SideKind::result
                                                                 : SideKind::experiment;
  const bool there = std::filesystem::exists(path, error);
  if (!there && path.ends_with(".db"))
    throw UsageError("there is no file '" + excerpt(path, 200) + "'");
  if (!there) // a bundled name, or a mistake that its reader explains
    return kind_of_named(path) == "fleet" ? SideKind::fleet : SideKind::experiment;
  if (is_database(path))
    return SideKind::store;
  const auto document = load_document(path);
  const Json& root = document->root;
  if (root.is_object() && root.contains("version") && root.contains("fleet"))
    throw UsageError("'" + excerpt(path, 200) +
                     "' is the answer of a fleet, without its seeds\n  hint: compare the fleets "
                     "themselves: both are simulated, seed by seed");
  if (root.is_object() && root.contains("points") && root.contains("version"))
    return SideKind::result;
  return kind_of_named(path) == "fleet" ? SideKind::fleet : SideKind::experiment;
}

CompareSide side_of_result(const std::string& path)
{
  const auto document = load_document(result_file(path));
  const Value root{DocumentPtr(document)};
  if (!document->root.is_object() || !document->root.contains("points") ||
      !document->root.at("points").is_array())
    root.fail("must be a result of foretrain, with a list \"points\"");
  const auto result = read_as<ExperimentResult>(root);
  CompareSide side{path.starts_with("/dev/") ? result.experiment : path, {}, {}};
  for (const PointResult& point : result.points) {
    if (point.jobs.empty())
      continue;
    const Json settings = settings_json(point.settings);
    side.points.push_back(
        {result.experiment, settings,
         result.input.is_object() ? input_of_point(result.input, settings) : Json(), point.jobs,
         point.warnings});
  }
  return side;
}

CompareSide side_of_store(const std::string& path)
{
  const ResultStore store(path, StoreUse::read);
  std::map<std::string, StoredPoint> latest; // by experiment and settings
  std::vector<std::string> order;
  std::set<std::string> experiments;
  for (StoredPoint& point : store.all()) {
    const std::string key = point.experiment + point.result.at("settings").dump();
    experiments.insert(point.experiment);
    if (latest.count(key) == 0)
      order.push_back(key);
    latest[key] = std::move(point);
  }
  CompareSide side{path, {}, {}};
  for (const std::string& key : order) {
    const StoredPoint& point = latest.at(key);
    PointResult result = read_from<PointResult>(point.result, "a point of " + path);
    ComparedPoint compared{point.experiment, settings_json(result.settings), Json(),
                           std::move(result.jobs), std::move(result.warnings)};
    if (experiments.size() > 1)
      compared.settings[kWhich] = point.experiment;
    side.points.push_back(std::move(compared));
  }
  return side;
}

CompareSide side_of_prediction(const LoadedExperiment& experiment, const ExperimentResult& result,
                               std::string name)
{
  CompareSide side{std::move(name), {}, result.warnings};
  for (std::size_t i = 0; i < std::min(result.points.size(), experiment.points.size()); ++i) {
    const PointResult& told = result.points[i];
    const Point& point = experiment.points[i];
    if (!told.jobs.empty())
      side.points.push_back({experiment.spec.name, settings_json(told.settings),
                             point.document->root, told.jobs, told.warnings, point.profiles,
                             point});
  }
  return side;
}

void keep_where(CompareSide& side, const std::vector<std::string>& where)
{
  for (const std::string& text : where) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      throw UsageError("a choice of points needs POINTER=VALUE, like /stack/network=rdma; got '" +
                       excerpt(text) + "'");
    const std::string pointer = text.substr(0, equals);
    const std::string word = text.substr(equals + 1);
    const Json parsed = Json::parse(word, nullptr, false);
    const Json wanted = parsed.is_discarded() ? Json(word) : parsed;
    std::erase_if(side.points, [&](const ComparedPoint& point) {
      return value_at_point(point, pointer) != wanted;
    });
    if (side.points.empty())
      throw UsageError("no point of '" + excerpt(side.name) + "' has " + excerpt(text));
    for (ComparedPoint& point : side.points) {
      point.chosen[pointer] = wanted;
      point.settings.erase(pointer);
    }
  }
}

std::vector<ComparedPair> pairs_of(const CompareSide& a, const CompareSide& b)
{
  if (a.points.size() == 1 && b.points.size() == 1)
    return {{&a.points.front(), &b.points.front()}};
  const auto pointers = pointers_varied(a, b);
  std::vector<ComparedPair> pairs;
  for (const ComparedPoint& of_a : a.points)
    for (const ComparedPoint& of_b : b.points)
      if (std::all_of(pointers.begin(), pointers.end(), [&](const std::string& pointer) {
            return value_at_point(of_a, pointer) == value_at_point(of_b, pointer);
          }))
        pairs.push_back({&of_a, &of_b});
  if (pairs.empty())
    throw UsageError(fmt::format(
        "no point of '{}' has the settings of a point of '{}'\n  hint: they vary {}; choose points "
        "with --where-a and --where-b",
        excerpt(a.name), excerpt(b.name),
        joined(std::vector<std::string>(pointers.begin(), pointers.end()))));
  return pairs;
}

const Json& value_at_point(const ComparedPoint& point, const std::string& pointer)
{
  static const Json kNone;
  if (const auto own = point.settings.find(pointer); own != point.settings.end())
    return *own;
  if (const auto own = point.chosen.find(pointer); own != point.chosen.end())
    return *own;
  if (pointer.empty() || pointer.front() != '/' || !point.input.is_object())
    return kNone;
  const Json::json_pointer at(pointer);
  return point.input.contains(at) ? point.input.at(at) : kNone;
}

} // namespace foretrain::experiments
