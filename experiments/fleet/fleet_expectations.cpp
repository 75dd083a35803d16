#include "experiments/fleet/fleet_expectations.hpp"

#include "experiments/run/keep/result_json.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using Pointer = nlohmann::json_pointer<std::string>;

// The number at a pointer of an answer, of a range its median, where there is one.
std::optional<double> number_in(const Json& answer, const std::string& quantity)
{
  const Json* found = nullptr;
  try {
    const Pointer pointer(quantity);
    if (answer.contains(pointer))
      found = &answer.at(pointer);
  } catch (const Json::exception&) { // no pointer, or through what is no object
    return {};
  }
  if (found != nullptr && found->is_object() && found->contains("median"))
    found = &found->at("median");
  return found != nullptr && found->is_number() ? std::optional(found->get<double>())
                                                : std::nullopt;
}

// Whether a quantity is of jobs that ran, in the fleet or a group of it, and none did.
bool lacks_jobs(const Json& answer, const std::string& quantity)
{
  try {
    const Pointer spread = Pointer(quantity).parent_pointer(), group = spread.parent_pointer();
    const std::string of = spread.empty() ? "" : spread.back();
    return (of == "wait_s" || of == "completion_s" || of == "slowdown") && answer.contains(group) &&
           !answer.contains(spread);
  } catch (const Json::exception&) {
    return false;
  }
}

const Json& setting_of(const FleetPoint& point, const std::string& pointer)
{
  static const Json kNone;
  try {
    const Json& root = point.fleet.document->root;
    const Pointer at(pointer);
    return root.contains(at) ? root.at(at) : kNone;
  } catch (const Json::exception&) {
    return kNone;
  }
}

bool is_about(const FleetExpectationSpec& expectation, const FleetPoint& point)
{
  if (!expectation.point)
    return true;
  const auto items = expectation.point.json().items();
  return std::all_of(items.begin(), items.end(), [&](const auto& wanted) {
    return setting_of(point, wanted.key()) == wanted.value();
  });
}

// The point that differs from another one in these settings alone.
const FleetPointRun* counterpart_of(const FleetPointRun& run, const Value& than,
                                    const std::vector<FleetPointRun>& points)
{
  Json wanted = settings_json(run.point->settings);
  wanted.update(than.json());
  for (const FleetPointRun& other : points)
    if (std::all_of(wanted.items().begin(), wanted.items().end(), [&](const auto& setting) {
          return setting_of(*other.point, setting.key()) == setting.value();
        }))
      return &other;
  return nullptr;
}

class FleetJudge {
public:
  FleetJudge(const FleetExpectationSpec& expectation, Value quantity)
      : expectation_(expectation), quantity_(std::move(quantity))
  {
  }

  JudgedExpectation judged(std::size_t index, const FleetPointRun& run,
                           const FleetPointRun* other) const
  {
    JudgedExpectation it{index, expectation_.quantity, "", {}};
    if (!run.point->settings.empty())
      it.what += " at " + settings_json(run.point->settings).dump();
    for (const FleetPointRun* const of : {&run, other})
      if (of != nullptr && lacks_jobs(written(of->answer), expectation_.quantity)) {
        it.problem = "tells nothing: no job ran to its end";
        return it;
      }
    const double value = number_of(run.answer);
    if (!expectation_.than) {
      it.problem = violation_of(value, "is");
    } else if (other == nullptr) {
      it.problem = "has nothing to be compared with: no such point";
      return it;
    } else {
      const double reference = number_of(other->answer);
      it.problem = violation_of(value / reference,
                                fmt::format("is {:.6g} against {:.6g}, ratio", value, reference));
    }
    const std::size_t seeds = run.by_seed.size();
    if (seeds < 2 || (other != nullptr && other->by_seed.size() != seeds))
      return it;
    int violated = 0;
    for (std::size_t i = 0; i < seeds; ++i) {
      const auto of_seed = number_in(written(run.by_seed[i]), expectation_.quantity);
      const auto of_other = other == nullptr
                                ? std::optional(1.0)
                                : number_in(written(other->by_seed[i]), expectation_.quantity);
      // A seed in which no such job ran says that it does not hold.
      const bool holds = of_seed && of_other && violation_of(*of_seed / *of_other, "").empty();
      violated += holds ? 0 : 1;
    }
    it.chance = violated / static_cast<double>(seeds);
    return it;
  }

private:
  // Throws ConfigError at the quantity.
  double number_of(const FleetAnswer& answer) const
  {
    const auto found = number_in(written(answer), expectation_.quantity);
    if (!found)
      quantity_.fail("is no number or range of the answer, got " + quantity_.shown(),
                     "like /wait_s/p90, see foretrain schema fleet-result");
    return *found;
  }

  // "" where the value is within the bounds; what is no number is not.
  std::string violation_of(double value, const std::string& what) const
  {
    if (expectation_.at_least && !(value >= *expectation_.at_least))
      return fmt::format("{} {:.6g}, expected at least {:.6g}", what, value,
                         *expectation_.at_least);
    if (expectation_.at_most && !(value <= *expectation_.at_most))
      return fmt::format("{} {:.6g}, expected at most {:.6g}", what, value, *expectation_.at_most);
    return "";
  }

  const FleetExpectationSpec& expectation_;
  Value quantity_;
};

} // namespace

std::vector<JudgedExpectation> judged_fleet_expectations(const FleetFile& file,
                                                         const std::vector<FleetPointRun>& points)
{
  const FleetSpec& spec = file.points.front().fleet.spec;
  const bool narrowed = !file.document->overridden.empty() || points.size() < file.points.size();
  std::vector<JudgedExpectation> judged;
  for (std::size_t i = 0; i < spec.expect.size(); ++i) {
    const FleetExpectationSpec& expectation = spec.expect[i];
    const FleetJudge judge(expectation, Value(file.document).at("expect").at(i).at("quantity"));
    bool met_any = false;
    for (const FleetPointRun& run : points) {
      if (!is_about(expectation, *run.point))
        continue;
      met_any = true;
      const FleetPointRun* const other =
          expectation.than ? counterpart_of(run, expectation.than, points) : nullptr;
      if (narrowed && expectation.than && other == nullptr)
        continue;
      judged.push_back(judge.judged(i, run, other));
    }
    if (!met_any && !narrowed)
      judged.push_back({i, "", "is about no point of this fleet", {}});
  }
  return judged;
}

std::vector<std::string> violated_fleet_expectations(const FleetFile& file,
                                                     const std::vector<FleetPointRun>& points)
{
  std::vector<std::string> lines;
  for (const JudgedExpectation& it : judged_fleet_expectations(file, points))
    if (!it.problem.empty())
      lines.push_back(it.what.empty() ? fmt::format("/expect/{}: {}", it.index, it.problem)
                                      : it.what + " " + it.problem);
  return lines;
}

} // namespace foretrain::experiments
