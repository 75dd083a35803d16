// A plan over a fleet: how many nodes, which policy, how many spares reach a goal on waits, goodput
// or an end, and which of them for the least money, or on the fewest nodes.
#pragma once

#include "experiments/answers/plan.hpp"
#include "experiments/fleet/fleet_points.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace foretrain::experiments {

struct LoadedFleetPlan {
  PlanSpec spec;
  std::vector<Candidate> candidates; // today's first; nodes and GPUs with spares
  std::vector<FleetPoint> points;    // of the candidates that there can be, in their order;
                                     // settings are change -> option
};

/// The fleet's sweep and expectations are left out. Every candidate has been read: an option that
/// fits nowhere is found before anything runs. Throws ConfigError.
LoadedFleetPlan load_fleet_plan(const PlanFile& file);

struct FleetGoalAnswer {
  std::optional<Range> value; // of what the goal is about, over seeds, if any job ran
  double probability = 0;     // share of the seeds that reach it
};

struct FleetCandidateAnswer {
  std::vector<std::pair<std::string, std::string>> options; // change, option
  int nodes = 1, gpus = 1;
  std::optional<double> cost;
  std::vector<FleetGoalAnswer> goals;
  double probability = 0; // share of the seeds that reach all goals
  std::optional<int> never_run;
  std::optional<Range> wait_p90_s, wait_mean_s, completion_mean_s, makespan_s;
  std::optional<Range> utilisation, goodput;
  std::string error;
};

struct FleetPlanAnswer {
  std::string plan, description, version;
  std::string fleet;
  std::uint64_t seed = 1;
  int seeds = 1;
  std::string currency;
  double confidence = 0.9;
  std::optional<double> budget;
  std::vector<std::string> goals;
  std::vector<FleetCandidateAnswer> candidates;
  Json recommended; // place of a candidate, or null
  std::string recommended_by;
  bool interrupted = false;
};

/// The time in seconds that nine of ten jobs that ran waited less than; infinite where none did.
double wait_p90_of(const FleetCandidateAnswer& candidate);

/// Points of an interrupted run may be fewer than the candidates.
FleetPlanAnswer judge_fleet_plan(const LoadedFleetPlan& plan,
                                 const std::vector<FleetPointRun>& runs);

std::string fleet_plan_table(const FleetPlanAnswer& answer);
/// One row a candidate.
std::string fleet_plan_csv(const FleetPlanAnswer& answer);
std::string fleet_plan_html(const FleetPlanAnswer& answer);

template <class V>
void describe(V& v, FleetGoalAnswer& s)
{
  v.optional("value", s.value, "of what the goal is about, over seeds, where any job ran");
  v.required("probability", s.probability, "share of the seeds that reach it", between(0, 1));
}

template <class V>
void describe(V& v, FleetCandidateAnswer& s)
{
  v.required("options", s.options, "by change");
  v.required("nodes", s.nodes, "with spares");
  v.required("gpus", s.gpus, "with those of spares");
  v.optional("cost", s.cost, "where there are prices: the median over seeds");
  v.optional("goals", s.goals, "in the order of the plan's");
  v.required("probability", s.probability, "share of the seeds that reach all goals",
             between(0, 1));
  v.optional("never_run", s.never_run,
             "jobs that were rejected, stuck or waiting at the end, of the first seed");
  v.optional("wait_p90_s", s.wait_p90_s, "nine of ten jobs that ran to their end waited less");
  v.optional("wait_mean_s", s.wait_mean_s, "of jobs that ran to their end");
  v.optional("completion_mean_s", s.completion_mean_s, "of jobs that ran to their end");
  v.optional("makespan_s", s.makespan_s, "from the first submission to the last end");
  v.optional("utilisation", s.utilisation, "GPU time that jobs held, of the cluster's");
  v.optional("goodput", s.goodput, "productive GPU time, of the cluster's");
  v.optional("error", s.error, "why it has no answer");
}

template <class V>
void describe(V& v, FleetPlanAnswer& s)
{
  v.required("plan", s.plan, "its name");
  v.optional("description", s.description, "the question that it asks");
  v.required("fleet", s.fleet, "name of the fleet");
  v.required("version", s.version, "of foretrain");
  v.required("seed", s.seed, "the first");
  v.required("seeds", s.seeds, "how often each candidate was simulated: all with the same seeds");
  v.required("currency", s.currency, "of costs");
  v.required("confidence", s.confidence, "share of the seeds that must reach all goals",
             between(0, 1));
  v.optional("budget", s.budget, "costs above it are out of the question");
  v.required("goals", s.goals, "in words");
  v.required("candidates", s.candidates, "today's first, the last change quickest");
  v.required("recommended", s.recommended, "place of a candidate, from 0, or null: none does");
  v.required("recommended_by", s.recommended_by,
             "cost: the cheapest that reaches the goals; nodes: that with the fewest nodes, where "
             "there are no prices");
  v.optional("interrupted", s.interrupted, "it was stopped before its end", {}, s.interrupted);
}

} // namespace foretrain::experiments
