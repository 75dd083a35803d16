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

// Settings of all points of the sweep.
std::vector<Settings> settings_of_points(const Json& input)
{
  if (!input.contains("sweep"))
    return {Settings{}};
  return sweep_settings(Value(parse_document(input.dump(), "the stored experiment")).at("sweep"));
}

// What the store says of the sweep but for its points.
ExperimentResult head_of(const SweepRun& run)
{
  Json head = Json::parse(run.answer, nullptr, false);
  try {
    head["points"] = Json::array();
    return read_from<ExperimentResult>(std::move(head), "a stored sweep");
  } catch (const std::exception&) {
    throw UsageError("what this file says of the sweep is damaged: run it again; points that are "
                     "whole are kept");
  }
}

std::optional<PointResult> whole_point(RunPoint& stored)
{
  if (stored.state == RunPoint::State::damaged)
    return std::nullopt;
  try {
    return read_from<PointResult>(std::move(stored.result), "a stored point");
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

// "2 points are ...: {...}, {...}"
std::string note(const std::vector<std::int64_t>& positions, const std::vector<Settings>& settings,
                 const std::string& what)
{
  std::vector<std::string> examples;
  for (std::size_t i = 0; i < std::min(positions.size(), kToldSettings); ++i)
    examples.push_back(settings_json(settings[static_cast<std::size_t>(positions[i])]).dump());
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
  ExperimentResult head = head_of(run);
  const std::vector<Settings> settings = settings_of_points(head.input);
  std::map<std::int64_t, RunPoint> there;
  for (RunPoint& point : store.points_of(run.number))
    there[point.position] = std::move(point);

  StoredAnswer answer{std::move(head), static_cast<std::int64_t>(settings.size()), {}};
  std::vector<std::int64_t> missing;
  std::vector<std::int64_t> damaged;
  std::vector<std::int64_t> failed;
  for (std::int64_t i = 0; i < answer.points; ++i) {
    const auto found = there.find(i);
    if (found == there.end()) {
      missing.push_back(i);
    } else if (auto point = whole_point(found->second); !point) {
      damaged.push_back(i);
    } else {
      if (found->second.state == RunPoint::State::failed)
        failed.push_back(i);
      point->settings = settings[static_cast<std::size_t>(i)]; // of this experiment, not of the one
      point->unused.clear();                                   // that ran it first
      answer.result.points.push_back(std::move(*point));
    }
  }
  if (!missing.empty())
    answer.notes.push_back(note(missing, settings, "are missing, for the sweep stopped or runs"));
  if (!damaged.empty())
    answer.notes.push_back(
        note(damaged, settings, "are damaged or were removed; the same sweep runs them again"));
  if (!missing.empty() || !damaged.empty())
    answer.result.interrupted = true;
  for (const std::string& text : answer.notes)
    answer.result.warnings.push_back(text);
  if (!failed.empty())
    answer.notes.push_back(note(failed, settings, "failed; the report says why"));
  return answer;
}

} // namespace foretrain::experiments
