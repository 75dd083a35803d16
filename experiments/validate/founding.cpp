#include "experiments/validate/founding.hpp"

#include "experiments/run/keep/result_json.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/run/workers.hpp"
#include "experiments/spec/experiment.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kLeastDifference = 1e-4; // relative: less is none

// A point that some claim needs, simulated once however many do.
struct ClaimPoint {
  Point point;
  std::string problem; // that it cannot be
};

class ClaimPoints {
public:
  explicit ClaimPoints(const ClaimsFile& file) : file_(file) {}

  std::size_t of(const Value& experiment, const Value& settings)
  {
    const std::string key =
        experiment.json().dump() + (settings ? settings.json().dump() : std::string());
    const auto [it, fresh] = known_.try_emplace(key, points.size());
    if (fresh)
      points.push_back(make(experiment, settings));
    return it->second;
  }

  std::vector<ClaimPoint> points;

private:
  Value find(const Value& experiment) const
  {
    if (experiment.json().is_string() && file_.experiments) {
      const auto name = experiment.json().get<std::string>();
      if (file_.experiments.json().contains(name))
        return file_.experiments.at(name);
    }
    return resolve_preset(experiment, kExperimentKind);
  }

  ClaimPoint make(const Value& experiment, const Value& settings) const
  {
    try {
      const auto document = own_document(find(experiment));
      document->root.erase("expect");
      Settings made;
      if (settings)
        for (const auto& item : settings.json().items()) {
          set_in_experiment(*document, item.key(), item.value(), "claim");
          made.emplace_back(item.key(), item.value());
        }
      return {single_point(document, std::move(made), {}), ""};
    } catch (const ConfigError& error) {
      return {{}, error.what()};
    }
  }

  const ClaimsFile& file_;
  std::map<std::string, std::size_t> known_;
};

double number_of(const Json& result, const ClaimSpec& claim)
{
  const Json& jobs = result.at("jobs");
  const auto job = static_cast<std::size_t>(claim.job);
  const auto number = [&](const std::string& quantity) {
    const Json::json_pointer at(quantity);
    if (job >= jobs.size() || !jobs[job].contains(at) || !jobs[job].at(at).is_number())
      return std::numeric_limits<double>::quiet_NaN();
    return jobs[job].at(at).get<double>();
  };
  return claim.than_quantity ? number(claim.quantity) / number(*claim.than_quantity)
                             : number(claim.quantity);
}

// Neighbours may miss the order by `ties`; the first and the last must differ as it says.
bool in_order(const std::vector<double>& numbers, double ties)
{
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (!(numbers[i] <= numbers[i - 1] * (1 + ties)))
      return false;
  return numbers.front() > numbers.back() * (1 + kLeastDifference);
}

bool claim_holds(const ClaimSpec& claim, const std::vector<double>& numbers)
{
  if (claim.order)
    return in_order(numbers, claim.ties);
  const double number = numbers.front();
  bool holds = number == number;
  if (claim.published)
    holds = holds && number >= *claim.published * (1 - claim.within) &&
            number <= *claim.published * (1 + claim.within);
  if (claim.at_least)
    holds = holds && number >= *claim.at_least;
  if (claim.at_most)
    holds = holds && number <= *claim.at_most;
  return holds;
}

// The points of a claim: of an order all, else the point and what it is divided by.
std::vector<std::size_t> points_of(const ClaimSpec& claim, ClaimPoints& points)
{
  std::vector<std::size_t> needed;
  if (claim.order) {
    for (std::size_t i = 0; i < claim.order.json().size(); ++i)
      needed.push_back(points.of(claim.experiment, claim.order.at(i)));
    return needed;
  }
  needed.push_back(points.of(claim.experiment, claim.settings));
  if (claim.than || claim.than_experiment)
    needed.push_back(
        points.of(claim.than_experiment ? claim.than_experiment : claim.experiment, claim.than));
  return needed;
}

Outcome simulate(const ClaimPoint& point, const RunOptions& options)
{
  if (!point.problem.empty())
    return {2, point.problem};
  try {
    return {0, to_json(run_point(point.point, options)).dump()};
  } catch (const ConfigError& error) {
    return {2, error.what()};
  } catch (const UsageError& error) {
    return {2, error.what()};
  } catch (const std::exception& error) {
    return {3, fmt::format("internal error: {}", error.what())};
  }
}

void check_claim(const ClaimSpec& claim, const Value& at)
{
  if (claim.order && !claim.order.json().is_array())
    claim.order.fail("must be a list of settings, got " + claim.order.shown());
  if (!claim.order && !claim.published && !claim.at_least && !claim.at_most)
    at.fail("says nothing to hold: give it published, at_least, at_most or order");
}

} // namespace

ClaimsFile load_claims(const std::string& name_or_path)
{
  const Value root = resolve_preset(name_or_path, kClaimsKind);
  auto file = read_as<ClaimsFile>(root);
  file.origin = root;
  for (std::size_t i = 0; i < file.claims.size(); ++i)
    check_claim(file.claims[i], root.at("claims").at(i));
  return file;
}

std::optional<std::vector<ClaimVerdict>> judge_claims(const ClaimsFile& file,
                                                      const RunOptions& options, int jobs,
                                                      const std::function<void(int, int)>& told)
{
  ClaimPoints points(file);
  std::vector<std::vector<std::size_t>> needed;
  for (const ClaimSpec& claim : file.claims)
    needed.push_back(points_of(claim, points));
  const int count = static_cast<int>(points.points.size());
  std::vector<Outcome> outcomes(points.points.size());
  int finished = 0;
  const bool complete = run_workers(
      count, jobs,
      [&](int i) { return simulate(points.points[static_cast<std::size_t>(i)], options); },
      [&](int i, const Outcome& outcome) {
        outcomes[static_cast<std::size_t>(i)] = outcome;
        told(++finished, count);
      });
  if (!complete)
    return std::nullopt;
  std::vector<ClaimVerdict> verdicts;
  for (std::size_t c = 0; c < file.claims.size(); ++c) {
    const ClaimSpec& claim = file.claims[c];
    ClaimVerdict verdict;
    verdict.claim = &claim;
    for (const std::size_t p : needed[c]) {
      if (outcomes[p].status != 0) {
        verdict.error = outcomes[p].text;
        verdict.status = outcomes[p].status;
        break;
      }
      verdict.numbers.push_back(number_of(Json::parse(outcomes[p].text), claim));
    }
    if (verdict.error.empty()) {
      if (!claim.order && verdict.numbers.size() == 2)
        verdict.numbers = {verdict.numbers[0] / verdict.numbers[1]};
      verdict.holds = claim_holds(claim, verdict.numbers);
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

} // namespace foretrain::experiments
