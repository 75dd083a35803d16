#include "experiments/validate/claim_points.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

Outcome outcome_of(const std::function<Json()>& predicted)
{
  try {
    return {0, predicted().dump()};
  } catch (const ConfigError& error) {
    return {2, error.what()};
  } catch (const UsageError& error) {
    return {2, error.what()};
  } catch (const std::exception& error) {
    return {3, fmt::format("internal error: {}", error.what())};
  }
}

} // namespace

Value ClaimPoints::find(const Value& experiment) const
{
  if (experiment.json().is_string() && file_.experiments) {
    const auto name = experiment.json().get<std::string>();
    if (file_.experiments.json().contains(name))
      return file_.experiments.at(name);
  }
  return resolve_preset(experiment, kExperimentKind);
}

ClaimPoints::ClaimPoint ClaimPoints::make(const Value& experiment,
                                          const std::vector<Value>& settings) const
{
  try {
    const auto document = own_document(find(experiment));
    Settings made;
    for (const Value& some : settings)
      if (some)
        for (const auto& item : some.json().items()) {
          set_in_experiment(*document, item.key(), item.value(), "claim");
          made.emplace_back(item.key(), item.value());
        }
    return {single_point(document, std::move(made), {})};
  } catch (const ConfigError& error) {
    return {.outcome = {2, error.what()}};
  }
}

ClaimPoints::Place ClaimPoints::ask(const Value& experiment, const std::vector<Value>& settings,
                                    Asked asked)
{
  ClaimPoint point = make(experiment, settings);
  const std::string what =
      point.outcome.status == 0 ? point.point.document->root.dump() : point.outcome.text;
  const auto [it, fresh] = known_.try_emplace(what, points_.size());
  if (fresh)
    points_.push_back(std::move(point));
  points_[it->second].asked.insert(asked);
  return {it->second, std::move(asked)};
}

bool ClaimPoints::simulate(const RunOptions& options, int jobs,
                           const std::function<void(int, int)>& told)
{
  std::vector<ClaimPoint*> open;
  for (ClaimPoint& point : points_)
    if (point.outcome.status == 0 &&
        (point.result.is_null() || (point.effects && !point.has_effects)))
      open.push_back(&point);
  const int count = static_cast<int>(open.size());
  int finished = 0;
  return run_workers(
      count, jobs,
      [&](int i) {
        const ClaimPoint& point = *open[static_cast<std::size_t>(i)];
        return outcome_of([&] {
          return point.result.is_null()
                     ? claim_result(point.point, point.asked, options)
                     : with_effects(point.result, point.point, point.asked, options);
        });
      },
      [&](int i, const Outcome& outcome) {
        ClaimPoint& point = *open[static_cast<std::size_t>(i)];
        point.has_effects = !point.result.is_null();
        point.outcome = outcome;
        if (outcome.status == 0)
          point.result = Json::parse(outcome.text);
        told(++finished, count);
      });
}

Outcome ClaimPoints::problem(const Place& place) const
{
  const ClaimPoint& point = points_[place.point];
  if (point.outcome.status != 0)
    return point.outcome;
  if (value(place).is_null())
    return {2, fmt::format("'{}' is no result of job {}", place.asked.pointer, place.asked.job)};
  return {};
}

const Json& ClaimPoints::value(const Place& place) const
{
  return asked_value(points_[place.point].result, place.asked);
}

LinearNumber ClaimPoints::number(const Place& place) const
{
  return linear_number(points_[place.point].result, place.asked,
                       fmt::format("point {}", place.point));
}

} // namespace foretrain::experiments
