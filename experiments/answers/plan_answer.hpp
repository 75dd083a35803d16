// What a plan's candidates cost and reach, and which of them to choose.
#pragma once

#include "experiments/answers/plan.hpp"
#include "experiments/run/keep/result_json.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

/// Of one candidate.
struct GoalReached {
  double reached = 0; // how many times as fast as the goal asks for
  double probability = 0;
};

struct JudgedCandidate {
  Settings options; // change -> option
  int nodes = 1;
  int gpus = 1;
  std::string error; // why it has no answer; then nothing of what follows
  double cost = 0;
  std::vector<GoalReached> goals; // in the order of the plan's
  double probability = 0;         // that it reaches all goals
  bool fits = true;               // in device memory
  std::vector<JobResult> jobs;

  bool done() const { return !jobs.empty(); }
  bool possible() const { return done() && fits; }
  /// The job of this name, else the first.
  const JobResult& job(const std::string& name) const;
  /// "network: rdma, size: large"
  std::string words() const;
};

/// What an option does if it is all that changes.
struct SingleChange {
  std::string change, option, instead_of;
  std::size_t candidate = 0;
  double cost = 0;  // more than today's
  double ratio = 1; // of throughput, over today's
  double probability_faster = 0;
  std::string limited_by, limited_before; // resources
};

/// What rates are of.
enum class JudgedBy { training, steps };
constexpr auto choices(JudgedBy)
{
  return std::to_array<Choice<JudgedBy>>(
      {{JudgedBy::training, "training"}, {JudgedBy::steps, "steps"}});
}

struct PlanAnswer {
  std::string plan, description, version;
  std::uint64_t seed = 1;
  models::Fidelity fidelity = models::Fidelity::coupled;
  std::vector<std::string> warnings;
  bool interrupted = false;
  std::string currency;
  double confidence = 0.9;
  std::optional<double> budget;
  std::vector<std::string> goals;          // in words
  std::string job;                         // that the plan is about
  std::vector<JudgedCandidate> candidates; // today's first
  std::optional<std::size_t> recommended;
  std::optional<std::size_t> fastest; // of those that reach all goals within the budget
  JudgedBy judged_by = JudgedBy::steps;
  std::vector<std::size_t> frontier;        // what nothing beats at no higher cost, cheapest first
  std::vector<SingleChange> single_changes; // what brings most first

  /// The job that the plan is about, of a candidate that has an answer.
  const JobResult& job_of(std::size_t candidate) const { return candidates[candidate].job(job); }
};

/// The plan's answer (docs/plan.md) from the prediction of its experiment.
PlanAnswer judge(const LoadedPlan& plan, const ExperimentResult& prediction);

template <class V>
void describe(V& v, GoalReached& s)
{
  v.required("reached", s.reached, "how many times as fast as the goal asks for");
  v.required("probability", s.probability, "that it is reached", between(0, 1));
}

template <class V>
void describe(V& v, JudgedCandidate& s)
{
  const bool done = s.error.empty();
  v.required("options", s.options, "by change");
  v.required("nodes", s.nodes, "of the cluster; 0: without answer, and not known", at_least(0));
  v.required("gpus", s.gpus, "of the cluster; 0: likewise", at_least(0));
  v.optional("error", s.error, "instead of what follows: why it has no answer");
  v.optional("cost", s.cost, "in the plan's currency", {}, done);
  v.optional("goals", s.goals, "in the order of the plan's");
  v.optional("probability", s.probability, "that all goals are reached", between(0, 1), done);
  v.optional("fits_memory", s.fits, "whether devices hold what jobs need", {}, done);
  v.optional("jobs", s.jobs, "the results, one object for each job");
}
void check_fields(const Value& at, const JudgedCandidate& candidate);

template <class V>
void describe(V& v, SingleChange& s)
{
  v.required("change", s.change, "its name");
  v.required("option", s.option, "that is chosen");
  v.required("instead_of", s.instead_of, "today's");
  v.required("candidate", s.candidate, "its place, from 0");
  v.required("cost", s.cost, "more than today's");
  v.required("throughput_ratio", s.ratio, "over today's", non_negative());
  v.required("probability_faster", s.probability_faster, "than today's", between(0, 1));
  v.required("limited_by", s.limited_by, "the resource");
  v.required("limited_before", s.limited_before, "today's");
}

template <class V>
void describe(V& v, PlanAnswer& s)
{
  v.required("plan", s.plan, "its name");
  v.optional("description", s.description, "the question that it asks");
  v.required("version", s.version, "of foretrain");
  v.required("seed", s.seed, "of all random streams");
  v.optional("fidelity", s.fidelity, "how collectives share links");
  v.optional("warnings", s.warnings, "about the whole run");
  v.optional("interrupted", s.interrupted, "it was stopped before its end", {}, s.interrupted);
  v.required("currency", s.currency, "of costs");
  v.required("confidence", s.confidence, "with which goals must be reached", between(0, 1));
  v.optional("budget", s.budget, "costs above it are out of the question");
  v.required("goals", s.goals, "in words");
  v.required("job", s.job, "that the plan is about");
  v.required("candidates", s.candidates, "today's first, the last change quickest");
  v.required("recommended", s.recommended, "place of a candidate, from 0; null: none");
  v.required("fastest", s.fastest, "of those that reach all goals within the budget, likewise");
  v.required("judged_by", s.judged_by, "what rates are of: the whole training, or steps");
  v.required("frontier", s.frontier, "what nothing beats at no higher cost, cheapest first");
  v.required("single_changes", s.single_changes, "one option changed, what brings most first");
}
void check_fields(const Value& at, const PlanAnswer& answer);

} // namespace foretrain::experiments
