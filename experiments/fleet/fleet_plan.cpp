#include "experiments/fleet/fleet_plan.hpp"

#include "experiments/fleet/fleet_points_text.hpp"
#include "experiments/fleet/fleet_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/version.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// A goal on a fleet: what it is about, and whether a seed reaches it.
struct GoalKind {
  std::string text;
  const Range* (*value)(const FleetAnswer&);
  std::function<bool(const FleetAnswer& of_seed, double all_wait_p90)> reached;
};

bool all_done(const FleetAnswer& answer)
{
  return never_run(answer.jobs) == 0 && answer.jobs.running == 0;
}

GoalKind kind_of_goal(const PlanGoal& goal)
{
  if (goal.wait_p90_at_most) {
    const double most = goal.wait_p90_at_most->value();
    return {"nine of ten jobs wait " + duration_text(most) + " at most",
            fleet_quantity("/wait_s/p90").of,
            [most](const FleetAnswer&, double wait) { return wait <= most; }};
  }
  if (goal.goodput_at_least) {
    const double least = *goal.goodput_at_least;
    return {"goodput at least " + percent_of(least),
            [](const FleetAnswer& answer) { return &answer.goodput; },
            [least](const FleetAnswer& answer, double) { return answer.goodput.median >= least; }};
  }
  const double most = goal.done_by->value();
  return {"all jobs done " + duration_text(most) + " after the first submission",
          [](const FleetAnswer& answer) { return all_done(answer) ? &answer.makespan_s : nullptr; },
          [most](const FleetAnswer& answer, double) {
            return all_done(answer) && answer.makespan_s.median <= most;
          }};
}

void check_fleet_goals(const PlanSpec& spec, const Value& root)
{
  if (spec.goals.empty())
    root.fail_at("goals", "must hold at least one goal where there is a fleet");
  for (std::size_t g = 0; g < spec.goals.size(); ++g) {
    const PlanGoal& goal = spec.goals[g];
    const Value at = root.at("goals").at(g);
    for (const char* other :
         {"job", "throughput_at_least", "step_time_at_most", "training_at_most"})
      if (at.json().contains(other))
        at.at(other).fail("is for plans of an experiment",
                          "goals of fleets: wait_p90_at_most, goodput_at_least, done_by");
    const int bounds =
        (goal.wait_p90_at_most ? 1 : 0) + (goal.goodput_at_least ? 1 : 0) + (goal.done_by ? 1 : 0);
    if (bounds != 1)
      at.fail("must have exactly one of wait_p90_at_most, goodput_at_least and done_by, got " +
              at.shown());
  }
  for (const PlanChange& change : spec.changes)
    for (const PlanOption& option : change.options)
      for (const char* pointer : {"/seed", "/seeds"})
        if (option.set && option.set.json().contains(pointer))
          option.set.fail(std::string("sets ") + pointer +
                          ", and all candidates are simulated with the same seeds");
  if (!spec.profiles.empty())
    root.at("profiles").fail("are for plans of an experiment");
}

bool has_prices(const PlanCost& cost)
{
  return cost.fixed != 0 || cost.node != 0 || cost.gpu != 0 || cost.node_hour != 0;
}

bool has_prices(const LoadedFleetPlan& plan)
{
  if (has_prices(plan.spec.cost))
    return true;
  for (const PlanChange& change : plan.spec.changes)
    for (const PlanOption& option : change.options)
      if (has_prices(option.cost))
        return true;
  return std::any_of(plan.points.begin(), plan.points.end(),
                     [](const FleetPoint& point) { return point.fleet.price.has_value(); });
}

double cost_of_candidate(const PlanSpec& spec, const Candidate& candidate,
                         const FleetAnswer& answer)
{
  const double hours = answer.makespan_s.median / 3600;
  double sum = answer.cost ? answer.cost->median : 0;
  const auto add = [&](const PlanCost& cost) {
    sum += cost.fixed + candidate.nodes * (cost.node + cost.node_hour * hours) +
           candidate.gpus * cost.gpu;
  };
  add(spec.cost);
  for (std::size_t c = 0; c < spec.changes.size(); ++c)
    add(spec.changes[c].options[candidate.options[c]].cost);
  return sum;
}

FleetCandidateAnswer options_of_candidate(const PlanSpec& spec, const Candidate& candidate)
{
  FleetCandidateAnswer answer;
  for (std::size_t c = 0; c < spec.changes.size(); ++c)
    answer.options.emplace_back(spec.changes[c].name,
                                spec.changes[c].options[candidate.options[c]].name);
  answer.nodes = candidate.nodes;
  answer.gpus = candidate.gpus;
  return answer;
}

FleetCandidateAnswer judged_candidate(const LoadedFleetPlan& plan, const Candidate& candidate,
                                      const FleetPointRun& run, bool priced)
{
  FleetCandidateAnswer answer = options_of_candidate(plan.spec, candidate);
  const FleetAnswer& all = run.answer;
  if (priced)
    answer.cost = cost_of_candidate(plan.spec, candidate, all);
  const std::size_t seeds = run.by_seed.size();
  std::vector<bool> reached(seeds, true);
  for (const PlanGoal& goal : plan.spec.goals) {
    const GoalKind kind = kind_of_goal(goal);
    int of_seeds = 0;
    for (std::size_t i = 0; i < seeds; ++i) {
      const bool does = kind.reached(run.by_seed[i], run.all_wait_p90[i]);
      of_seeds += does ? 1 : 0;
      reached[i] = reached[i] && does;
    }
    const Range* const value = kind.value(all);
    answer.goals.push_back({value != nullptr ? std::optional(*value) : std::nullopt,
                            of_seeds / static_cast<double>(seeds)});
  }
  answer.probability = static_cast<double>(std::count(reached.begin(), reached.end(), true)) /
                       static_cast<double>(seeds);
  answer.never_run = never_run(all.jobs);
  if (all.wait_s) {
    answer.wait_p90_s = all.wait_s->p90;
    answer.wait_mean_s = all.wait_s->mean;
    answer.completion_mean_s = all.completion_s->mean;
  }
  answer.makespan_s = all.makespan_s;
  answer.utilisation = all.utilisation;
  answer.goodput = all.goodput;
  return answer;
}

bool is_allowed(const FleetCandidateAnswer& it, const PlanSpec& spec)
{
  return it.error.empty() && it.probability >= spec.confidence &&
         (!spec.budget || (it.cost && *it.cost <= *spec.budget));
}

// The cheaper, else the smaller one; of such that are alike the one whose jobs wait less.
bool is_better(const FleetCandidateAnswer& a, const FleetCandidateAnswer& b)
{
  if (a.cost && b.cost && *a.cost != *b.cost)
    return *a.cost < *b.cost;
  if (a.nodes != b.nodes)
    return a.nodes < b.nodes;
  return wait_p90_of(a) < wait_p90_of(b);
}

} // namespace

double wait_p90_of(const FleetCandidateAnswer& candidate)
{
  return candidate.wait_p90_s ? candidate.wait_p90_s->median
                              : std::numeric_limits<double>::infinity();
}

LoadedFleetPlan load_fleet_plan(const PlanFile& file)
{
  const Value root{DocumentPtr(file.document)};
  LoadedFleetPlan plan;
  plan.spec = file.spec;
  check_fleet_goals(plan.spec, root);
  const auto base = own_document(resolve_preset(plan.spec.fleet, kFleetKind));
  if (!base->root.is_object())
    plan.spec.fleet.fail("must be a fleet, got " + plan.spec.fleet.shown());
  base->root.erase("expect");
  base->root.erase("sweep");
  FleetTraces traces;
  plan.candidates = file.candidates;
  std::vector<std::optional<ConfigError>> failures;
  for (Candidate& candidate : plan.candidates) {
    failures.emplace_back();
    try {
      auto document = with_options(plan.spec, *base, candidate);
      FleetPoint point{chosen_options(plan.spec, candidate), read_fleet(document, traces)};
      candidate.nodes = point.fleet.shape.nodes;
      candidate.gpus = point.fleet.shape.gpus();
      plan.points.push_back(std::move(point));
    } catch (const ConfigError& error) {
      failures.back() = error;
      candidate.error = error.what();
    }
  }
  refuse_hopeless(plan.spec, plan.candidates, failures);
  if (!plan.points.empty())
    take_currency(plan.spec, root, plan.points.front().fleet.spec.cluster.currency);
  if (plan.spec.budget && !has_prices(plan))
    root.at("budget").fail("needs prices: costs of the plan, or the fleet's price_per_gpu_hour");
  return plan;
}

FleetPlanAnswer judge_fleet_plan(const LoadedFleetPlan& plan,
                                 const std::vector<FleetPointRun>& runs)
{
  FleetPlanAnswer answer;
  answer.plan = plan.spec.name;
  answer.description = plan.spec.description;
  answer.version = version();
  answer.fleet = plan.points.front().fleet.spec.name;
  answer.seed = runs.front().answer.seed;
  answer.seeds = runs.front().answer.seeds;
  answer.currency = plan.spec.currency;
  answer.confidence = plan.spec.confidence;
  answer.budget = plan.spec.budget;
  for (const PlanGoal& goal : plan.spec.goals)
    answer.goals.push_back(kind_of_goal(goal).text);
  answer.interrupted = runs.back().answer.interrupted;
  const bool priced = has_prices(plan);
  answer.recommended_by = priced ? "cost" : "nodes";
  std::size_t next = 0; // not all have a point, and an interrupted run holds fewer
  for (const Candidate& candidate : plan.candidates) {
    if (candidate.error.empty() && next < runs.size() && !runs[next].answer.interrupted) {
      answer.candidates.push_back(judged_candidate(plan, candidate, runs[next], priced));
    } else {
      answer.candidates.push_back(options_of_candidate(plan.spec, candidate));
      answer.candidates.back().error = candidate.error.empty() ? "not reached" : candidate.error;
    }
    next += candidate.error.empty() ? 1U : 0U;
  }
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < answer.candidates.size(); ++i)
    if (is_allowed(answer.candidates[i], plan.spec) &&
        (!best || is_better(answer.candidates[i], answer.candidates[*best])))
      best = i;
  answer.recommended = best ? Json(*best) : Json();
  return answer;
}

} // namespace foretrain::experiments
