#include "experiments/validate/claim_verdicts.hpp"

#include "experiments/validate/claim_points.hpp"

#include <algorithm>
#include <limits>

namespace foretrain::experiments {

namespace {

constexpr const char* kThroughput = "/throughput_samples_per_s/median";

using NumberPlace = ClaimPoints::Place;

// One case of a number: what is read, and what that is divided by.
struct PlannedCase {
  NumberPlace number;
  std::optional<NumberPlace> than;
};

struct PlannedNumber {
  std::vector<PlannedCase> cases;
  double times = 1;
  Take take = Take::mean; // of one case the same whatever it is
};

struct PlannedClaim {
  std::vector<PlannedNumber> numbers; // one, two of a difference, or those of an order
};

Value or_else(const Value& own, const Value& other)
{
  return own ? own : other;
}

// What a number leaves out is as in the claim.
ClaimNumber filled(ClaimNumber number, const ClaimNumber& claim)
{
  number.experiment = or_else(number.experiment, claim.experiment);
  number.settings = or_else(number.settings, claim.settings);
  number.than = or_else(number.than, claim.than);
  number.than_experiment = or_else(number.than_experiment, claim.than_experiment);
  number.job = number.job ? number.job : claim.job;
  number.quantity = number.quantity ? number.quantity : claim.quantity;
  number.than_quantity = number.than_quantity ? number.than_quantity : claim.than_quantity;
  number.times = number.times ? number.times : claim.times;
  number.take = number.take ? number.take : claim.take;
  if (number.each.empty())
    number.each = claim.each;
  return number;
}

PlannedCase planned(const ClaimNumber& number, const ClaimCase& one, ClaimPoints& points)
{
  const int job = number.job.value_or(0);
  const std::string quantity = number.quantity.value_or(kThroughput);
  const std::string below = number.than_quantity.value_or(quantity);
  const Value experiment = or_else(one.experiment, number.experiment);
  const Value other = or_else(one.than_experiment, number.than_experiment);
  PlannedCase planned{points.ask(experiment, {number.settings, one.settings}, {job, quantity}), {}};
  if (number.than || other)
    planned.than =
        points.ask(or_else(other, experiment), {number.than, one.settings}, {job, below});
  else if (number.than_quantity)
    planned.than = points.ask(experiment, {number.settings, one.settings}, {job, below});
  return planned;
}

PlannedNumber planned(const ClaimNumber& number, ClaimPoints& points)
{
  PlannedNumber plan{{}, number.times.value_or(1), number.take.value_or(Take::mean)};
  for (const ClaimCase& one : number.each.empty() ? std::vector<ClaimCase>(1) : number.each)
    plan.cases.push_back(planned(number, one, points));
  return plan;
}

PlannedClaim planned(const ClaimSpec& claim, ClaimPoints& points)
{
  PlannedClaim plan;
  for (const ClaimNumber& number : claim.order)
    plan.numbers.push_back(planned(filled(number, claim.number), points));
  if (!claim.order.empty())
    return plan;
  plan.numbers.push_back(planned(claim.number, points));
  if (claim.minus)
    plan.numbers.push_back(planned(filled(*claim.minus, claim.number), points));
  return plan;
}

LinearNumber value_of(const PlannedCase& one, const ClaimPoints& points)
{
  const LinearNumber number = points.number(one.number);
  return one.than ? number / points.number(*one.than) : number;
}

// Places by whose parameters the claim's numbers move: those of the cases that are taken.
std::vector<NumberPlace> decisive(const PlannedClaim& plan, const ClaimPoints& points)
{
  std::vector<NumberPlace> places;
  const auto add = [&](const PlannedCase& one) {
    places.push_back(one.number);
    if (one.than)
      places.push_back(*one.than);
  };
  for (const PlannedNumber& number : plan.numbers) {
    const auto [least, most] = std::minmax_element(
        number.cases.begin(), number.cases.end(), [&](const auto& a, const auto& b) {
          return value_of(a, points).value < value_of(b, points).value;
        });
    if (number.take == Take::mean)
      std::for_each(number.cases.begin(), number.cases.end(), add);
    if (number.take == Take::least || number.take == Take::spread)
      add(*least);
    if (number.take == Take::most || number.take == Take::spread)
      add(*most);
  }
  return places;
}

LinearNumber taken(Take take, const std::vector<LinearNumber>& numbers)
{
  const auto [least, most] =
      std::minmax_element(numbers.begin(), numbers.end(),
                          [](const auto& a, const auto& b) { return a.value < b.value; });
  switch (take) {
  case Take::least:
    return *least;
  case Take::most:
    return *most;
  case Take::spread:
    return *least / *most;
  case Take::mean:
    break;
  }
  return mean_of(numbers);
}

LinearNumber claim_number(const PlannedNumber& plan, const ClaimPoints& points)
{
  std::vector<LinearNumber> numbers;
  for (const PlannedCase& one : plan.cases)
    numbers.push_back(value_of(one, points));
  return plan.times * taken(plan.take, numbers);
}

// Published, with the tolerance of its words.
Range allowed(const ClaimSpec& claim)
{
  constexpr double kAny = std::numeric_limits<double>::infinity();
  Range bounds{0, claim.at_least.value_or(-kAny), claim.at_most.value_or(kAny), 1};
  if (!claim.published)
    return bounds;
  const double tolerance =
      claim.within ? *claim.within * *claim.published : claim.within_points.value_or(0) / 100;
  bounds.low = std::max(bounds.low, *claim.published - tolerance);
  bounds.high = std::min(bounds.high, *claim.published + tolerance);
  return bounds;
}

// Of the upper number of two neighbours over the lower.
Range allowed(Relation relation)
{
  const double least = 1 / (1 - kLeastDifference);
  if (relation == Relation::above)
    return {1, least, std::numeric_limits<double>::infinity(), 1};
  return {1, 1 / least, least, 1};
}

bool holds(double number, const Range& bounds)
{
  return number >= bounds.low && number <= bounds.high;
}

bool meet(const Range& a, const Range& b)
{
  return a.high >= b.low && a.low <= b.high;
}

void judge_order(const std::vector<LinearNumber>& numbers, double interval, ClaimVerdict& verdict)
{
  verdict.holds = true;
  verdict.inside = true;
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
    const auto& relations = verdict.claim->relations;
    const Range bounds = allowed(relations.empty() ? Relation::above : relations[i]);
    const LinearNumber ratio = numbers[i] / numbers[i + 1];
    verdict.holds = verdict.holds && holds(ratio.value, bounds);
    verdict.inside = *verdict.inside && meet(interval_of(ratio, interval), bounds);
  }
}

void judge_number(const std::vector<LinearNumber>& numbers, double interval, ClaimVerdict& verdict)
{
  const ClaimSpec& claim = *verdict.claim;
  const LinearNumber number = claim.minus ? numbers[0] - numbers[1] : numbers[0];
  const Range range = interval_of(number, interval);
  const Range bounds = allowed(claim);
  verdict.numbers = {range};
  verdict.holds = holds(number.value, bounds);
  verdict.inside = claim.published ? holds(*claim.published, range) : meet(range, bounds);
}

void judge_texts(const PlannedNumber& plan, const ClaimPoints& points, ClaimVerdict& verdict)
{
  verdict.holds = true;
  for (const PlannedCase& one : plan.cases) {
    const Json& value = points.value(one.number);
    verdict.texts.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    const auto& names = verdict.claim->names;
    verdict.holds = verdict.holds && std::any_of(names.begin(), names.end(), [&](const auto& name) {
                      return verdict.texts.back().find(name) != std::string::npos;
                    });
  }
}

// The first thing that cannot be predicted.
Outcome problem_of(const PlannedClaim& plan, const ClaimPoints& points)
{
  for (const PlannedNumber& number : plan.numbers)
    for (const PlannedCase& one : number.cases) {
      if (Outcome problem = points.problem(one.number); problem.status != 0)
        return problem;
      if (one.than)
        if (Outcome problem = points.problem(*one.than); problem.status != 0)
          return problem;
    }
  return {};
}

ClaimVerdict judged(const ClaimSpec& claim, const PlannedClaim& plan, const ClaimPoints& points,
                    double interval)
{
  ClaimVerdict verdict;
  verdict.claim = &claim;
  if (const Outcome problem = problem_of(plan, points); problem.status != 0) {
    verdict.error = problem.text;
    verdict.status = problem.status;
    return verdict;
  }
  if (!claim.names.empty()) {
    judge_texts(plan.numbers.front(), points, verdict);
    return verdict;
  }
  std::vector<LinearNumber> numbers;
  for (const PlannedNumber& number : plan.numbers)
    numbers.push_back(claim_number(number, points));
  if (claim.order.empty()) {
    judge_number(numbers, interval, verdict);
    return verdict;
  }
  for (const LinearNumber& number : numbers)
    verdict.numbers.push_back(interval_of(number, interval));
  judge_order(numbers, interval, verdict);
  return verdict;
}

} // namespace

std::optional<std::vector<ClaimVerdict>> judge_claims(const ClaimsFile& file,
                                                      const RunOptions& options, int jobs,
                                                      const std::function<void(int, int)>& told)
{
  const double interval = options.uncertainty.interval;
  ClaimPoints points(file);
  std::vector<PlannedClaim> plans;
  for (const ClaimSpec& claim : file.claims)
    plans.push_back(planned(claim, points));
  if (!points.simulate(options, jobs, told))
    return std::nullopt;
  std::vector<ClaimVerdict> verdicts;
  for (std::size_t c = 0; c < plans.size(); ++c) {
    verdicts.push_back(judged(file.claims[c], plans[c], points, interval));
    if (verdicts.back().inside == false)
      for (const NumberPlace& place : decisive(plans[c], points))
        points.need_effects(place);
  }
  if (!points.simulate(options, jobs, told))
    return std::nullopt;
  for (std::size_t c = 0; c < plans.size(); ++c)
    if (verdicts[c].inside == false) {
      verdicts[c] = judged(file.claims[c], plans[c], points, interval);
      verdicts[c].ranges_known = true;
    }
  return verdicts;
}

} // namespace foretrain::experiments
