// A plan: what could be bought or changed, what that costs, and what must be reached.
#pragma once

#include "experiments/spec/experiment.hpp"
#include "sim/base/error.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

inline const PresetKind kPlanKind{"plan", "experiments/plans"};

struct PlanCost {
  double fixed = 0;
  double node = 0;
  double gpu = 0;
  double node_hour = 0;
};

struct PlanOption {
  std::string name;
  Value set; // object: JSON pointer into the experiment -> value; absent: as the experiment is
  PlanCost cost;
  Value place{}; // of `set` in the plan, or of the value that it is short for
};

struct PlanChange {
  std::string name;
  std::vector<PlanOption> options; // the first is what there is today
  std::string vary;                // pointer: options are values at it, in short
  std::vector<Json> values;        // the first is what there is today
};

struct PlanGoal {
  std::string job; // absent: the first
  std::optional<double> throughput_at_least;
  std::optional<double> tokens_per_s_at_least;
  std::optional<Seconds> step_time_at_most;
  std::optional<Seconds> training_at_most;
  // Of fleets:
  std::optional<Seconds> wait_p90_at_most;
  std::optional<double> goodput_at_least;
  std::optional<Seconds> done_by;
};

struct PlanSpec {
  std::string name = "plan";
  std::string description;
  Value experiment; // or a fleet
  Value fleet;
  std::vector<PlanChange> changes;
  std::vector<PlanGoal> goals;
  PlanCost cost; // of every candidate
  std::string currency;
  double confidence = 0.9;
  std::optional<double> budget;
  std::vector<Value> profiles;
};

/// One way to choose an option of every change.
struct Candidate {
  std::vector<std::size_t> options; // by change
  int nodes = 0;
  int gpus = 0;      // of all nodes
  std::string error; // why these options do not go together; then it has no point
};

struct LoadedPlan {
  PlanSpec spec;
  LoadedExperiment experiment; // a point for each candidate that there can be, in their order;
                               // settings are change -> option
  std::vector<Candidate> candidates;
  std::vector<std::size_t> goal_jobs; // by goal: which job it is about
};

/// A plan as it was read, of an experiment or a fleet.
struct PlanFile {
  PlanSpec spec;
  std::shared_ptr<const Document> document;
  std::vector<Candidate> candidates; // all combinations, today's first
};

/// Reads a plan, applies --set overrides and makes its candidates. Throws ConfigError and
/// UsageError.
PlanFile load_plan_file(const std::string& name_or_path, const std::vector<std::string>& overrides);

/// Change -> option.
Settings chosen_options(const PlanSpec& spec, const Candidate& candidate);

/// The experiment or fleet with a candidate's options. Throws ConfigError.
std::shared_ptr<Document> with_options(const PlanSpec& spec, const Document& base,
                                       const Candidate& candidate);

/// Throws the first error of an option with which nothing works; `failures` is by candidate.
void refuse_hopeless(const PlanSpec& spec, const std::vector<Candidate>& candidates,
                     const std::vector<std::optional<ConfigError>>& failures);

/// Prices of what is planned and of the plan are added up: the plan takes the currency of the
/// former. Throws ConfigError where it names another one.
void take_currency(PlanSpec& spec, const Value& root, const std::string& of_prices);

/// A plan of an experiment, whose sweep and expectations are left out. Every candidate has been
/// resolved once: an option that fits nowhere is found before anything runs. Throws ConfigError and
/// UsageError.
LoadedPlan load_plan(const PlanFile& file, const std::vector<std::string>& profiles);
LoadedPlan load_plan(const std::string& name_or_path, const std::vector<std::string>& overrides,
                     const std::vector<std::string>& profiles);

template <class V>
void describe(V& v, PlanCost& s)
{
  v.optional("fixed", s.fixed, "once");
  v.optional("node", s.node, "for each node of the cluster");
  v.optional("gpu", s.gpu, "for each GPU of the cluster");
  v.optional(
      "node_hour", s.node_hour,
      "for each node and hour of the training: the jobs say how long that is (epochs, tokens "
      "or training_steps)");
}

template <class V>
void describe(V& v, PlanOption& s)
{
  v.required("name", s.name, "what people call it");
  v.optional("set", s.set, "JSON pointers into the experiment and their values");
  v.optional("cost", s.cost, "what it costs, in the plan's currency");
}

template <class V>
void describe(V& v, PlanChange& s)
{
  v.required("name", s.name, "what is decided");
  v.optional("options", s.options, "one of them is taken; the first is what there is today");
  v.optional(
      "vary", s.vary,
      "JSON pointer into the experiment or fleet, instead of options: values are the options");
  v.optional("values", s.values, "at that pointer, named after themselves; the first is today's");
}

template <class V>
void describe(V& v, PlanGoal& s)
{
  v.optional("job", s.job, "the job it is about; default the first");
  v.optional("throughput_at_least", s.throughput_at_least, "samples per second", positive());
  v.optional("tokens_per_s_at_least", s.tokens_per_s_at_least, "tokens per second of a transformer",
             positive());
  v.optional("step_time_at_most", s.step_time_at_most, "median time of a step", positive());
  v.optional("training_at_most", s.training_at_most,
             "time to train: the job says how long that is (epochs, tokens or training_steps)",
             positive());
  v.optional("wait_p90_at_most", s.wait_p90_at_most,
             "of a fleet: nine of ten submitted jobs wait no longer; those that never run wait for "
             "ever",
             non_negative());
  v.optional("goodput_at_least", s.goodput_at_least,
             "of a fleet: productive GPU time, of the cluster's", between(0, 1));
  v.optional("done_by", s.done_by,
             "of a fleet: from the first submission until every job has ended", positive());
}

template <class V>
void describe(V& v, PlanSpec& s)
{
  v.format("foretrain.plan/1");
  v.optional("name", s.name, "name of the plan");
  v.optional("description", s.description, "what it asks, for people");
  v.optional("experiment", s.experiment, "what runs today", preset("experiment"));
  v.optional("fleet", s.fleet, "the jobs over time that there are today, instead of an experiment",
             preset("fleet"));
  v.required("changes", s.changes, "what can be decided; all combinations are candidates");
  v.optional("goals", s.goals, "what must be reached, all of them");
  v.optional("cost", s.cost, "what every candidate costs, whatever is changed");
  v.optional("currency", s.currency, "of all costs, for people");
  v.optional("confidence", s.confidence,
             "probability with which each goal must be reached; of fleets the share of the seeds "
             "that must reach all",
             between(0, 1));
  v.optional("budget", s.budget, "costs above it are out of the question", non_negative());
  v.optional("profiles", s.profiles, "calibrated parameters to lay over the presets",
             preset("profile"));
}

} // namespace foretrain::experiments
