#include "experiments/answers/stored_answer.hpp"

#include "experiments/run/keep/result_json.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kToldSettings = 3;

// Settings of all points of the sweep, as JSON.
std::vector<Json> settings_of_points(const Json& head)
{
  if (!head.contains("input") || !head.at("input").contains("sweep"))
    return {Json::object()};
  const Value input(parse_document(head.at("input").dump(), "the stored experiment"));
  std::vector<Json> all;
  for (const Settings& settings : sweep_settings(input.at("sweep")))
    all.push_back(settings_json(settings));
  return all;
}

// "2 points are ...: {...}, {...}"
std::string note(const std::vector<std::int64_t>& positions, const std::vector<Json>& settings,
                 const std::string& what)
{
  std::vector<std::string> examples;
  for (std::size_t i = 0; i < std::min(positions.size(), kToldSettings); ++i)
    examples.push_back(settings[static_cast<std::size_t>(positions[i])].dump());
  return fmt::format("{} of {} points {}: {}{}", positions.size(), settings.size(), what,
                     joined(examples), positions.size() > kToldSettings ? " and others" : "");
}

SweepRun run_of(const ResultStore& store, const std::string& experiment)
{
  const std::vector<std::string> known = store.experiments();
  if (!experiment.empty() && std::find(known.begin(), known.end(), experiment) == known.end())
    throw UsageError("no sweep of '" + excerpt(experiment, 200) +
                     "' is in this file\n  hint: " + suggestion(experiment, known, "experiments"));
  auto run = store.last_run_here(experiment);
  if (!run)
    throw UsageError(known.empty()
                         ? "no sweep has been run into this file"
                         : "the sweep into this file is queued, and nothing has been collected yet"
                           "\n  hint: foretrain sweep --status tells how far it is");
  return *run;
}

} // namespace

StoredAnswer stored_answer(const ResultStore& store, const std::string& experiment)
{
  const SweepRun run = run_of(store, experiment);
  Json head = Json::parse(run.answer, nullptr, false);
  if (!head.is_object())
    throw UsageError("what this file says of the sweep is damaged: run it again; points that are "
                     "whole are kept");
  const std::vector<Json> settings = settings_of_points(head);
  std::map<std::int64_t, RunPoint> there;
  for (RunPoint& point : store.points_of(run.number))
    there[point.position] = std::move(point);

  StoredAnswer answer{std::move(head), static_cast<std::int64_t>(settings.size()), {}};
  std::vector<std::int64_t> missing;
  std::vector<std::int64_t> damaged;
  std::vector<std::int64_t> failed;
  Json points = Json::array();
  for (std::int64_t i = 0; i < answer.points; ++i) {
    const auto found = there.find(i);
    if (found == there.end()) {
      missing.push_back(i);
    } else if (found->second.state == RunPoint::State::damaged) {
      damaged.push_back(i);
    } else {
      if (found->second.state == RunPoint::State::failed)
        failed.push_back(i);
      Json point = std::move(found->second.result);
      point["settings"] = settings[static_cast<std::size_t>(i)]; // of this experiment, not of the
      point.erase("unused_profile_parameters");                  // one that ran it first
      points.push_back(std::move(point));
    }
  }
  if (!missing.empty())
    answer.notes.push_back(note(missing, settings, "are missing, for the sweep stopped or runs"));
  if (!damaged.empty())
    answer.notes.push_back(
        note(damaged, settings, "are damaged or were removed; the same sweep runs them again"));
  if (!missing.empty() || !damaged.empty())
    answer.result["interrupted"] = true;
  for (const std::string& text : answer.notes)
    answer.result["warnings"].push_back(text);
  if (!failed.empty())
    answer.notes.push_back(note(failed, settings, "failed; the report says why"));
  answer.result["points"] = std::move(points);
  return answer;
}

} // namespace foretrain::experiments
