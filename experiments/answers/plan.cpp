#include "experiments/answers/plan.hpp"

#include "experiments/spec/resolve.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file_name.hpp"
#include "sim/base/text.hpp"

#include <filesystem>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kMaxCandidates = 20000;
constexpr const char* kSweepLeftOut = "is left out of plans: changes are what varies";

void check_changes(const PlanSpec& spec, const Value& root)
{
  if (spec.changes.empty())
    root.fail_at("changes", "must hold at least one change");
  std::set<std::string> changes;
  for (std::size_t c = 0; c < spec.changes.size(); ++c) {
    const PlanChange& change = spec.changes[c];
    const Value at = root.at("changes").at(c);
    if (!changes.insert(change.name).second)
      at.at("name").fail("is the name of another change, too: '" + change.name + "'");
    if (change.options.empty())
      at.fail_at("options", "must hold at least one option",
                 "or vary, a pointer, and values at it");
    std::set<std::string> options;
    for (std::size_t o = 0; o < change.options.size(); ++o) {
      const bool in_short = !change.vary.empty();
      const Value option = at.at(in_short ? "values" : "options").at(o);
      const Value& set = change.options[o].set;
      const bool is_new = options.insert(change.options[o].name).second;
      if (!is_new && in_short)
        option.fail("stands there twice, got " + option.shown());
      if (!is_new)
        option.at("name").fail("is the name of another option, too: '" + change.options[o].name +
                               "'");
      if (set && !set.json().is_object())
        set.fail("must be an object of JSON pointers and values, got " + set.shown());
      if (set)
        for (const auto& entry : set.json().items()) {
          if (entry.key().empty() || entry.key().front() != '/')
            set.fail_at(entry.key(), "must be a JSON pointer into the experiment, like "
                                     "/stack/network");
          if (overlap("/sweep", entry.key()))
            set.fail_at(entry.key(), kSweepLeftOut);
        }
    }
  }
}

// Options that are values at a pointer, written out.
void write_out_values(PlanSpec& spec, const Value& root)
{
  for (std::size_t c = 0; c < spec.changes.size(); ++c) {
    PlanChange& change = spec.changes[c];
    const Value at = root.at("changes").at(c);
    if (change.vary.empty() != change.values.empty())
      at.fail("must have vary and values together");
    for (PlanOption& option : change.options)
      option.place = option.set;
    if (change.vary.empty())
      continue;
    if (!change.options.empty())
      at.at("options").fail("must not be given beside vary and values");
    if (change.vary.front() != '/')
      at.at("vary").fail("must be a JSON pointer, like /cluster/nodes");
    if (overlap("/sweep", change.vary))
      at.at("vary").fail(kSweepLeftOut);
    for (std::size_t o = 0; o < change.values.size(); ++o) {
      const Json& value = change.values[o];
      auto document = std::make_shared<Document>();
      document->path = root.document()->path;
      document->name = root.document()->name;
      document->root[change.vary] = value;
      change.options.push_back({value.is_string() ? value.get<std::string>() : value.dump(),
                                Value(DocumentPtr(document)),
                                {},
                                at.at("values").at(o)});
    }
  }
}

// All ways to choose, today's first, the last change quickest.
std::vector<Candidate> combinations(const PlanSpec& spec, const Value& root)
{
  std::vector<Candidate> all{{}};
  for (const PlanChange& change : spec.changes) {
    if (all.size() * change.options.size() > kMaxCandidates)
      root.at("changes").fail(fmt::format("make more than {} candidates", kMaxCandidates));
    std::vector<Candidate> longer;
    for (const Candidate& candidate : all)
      for (std::size_t o = 0; o < change.options.size(); ++o) {
        longer.push_back(candidate);
        longer.back().options.push_back(o);
      }
    all = std::move(longer);
  }
  return all;
}

constexpr const char* kGoals =
    "throughput_at_least, tokens_per_s_at_least, step_time_at_most, training_at_most";
constexpr const char* kLengths =
    "it is told by training_steps, by tokens of a transformer, or by epochs of other jobs";

bool says_length(const JobSpec& job)
{
  const bool by_tokens = has_transformer(job);
  return job.training_steps || (by_tokens && job.tokens) ||
         (job.epochs && (!by_tokens || counts_epochs(job)));
}

// The job each goal is about. All goals are things that the jobs tell.
std::vector<std::size_t> check_goals(const PlanSpec& spec, const Value& root,
                                     const ExperimentSpec& experiment)
{
  std::vector<std::size_t> jobs;
  for (std::size_t g = 0; g < spec.goals.size(); ++g) {
    const PlanGoal& goal = spec.goals[g];
    const Value at = root.at("goals").at(g);
    const int bounds = (goal.throughput_at_least ? 1 : 0) + (goal.tokens_per_s_at_least ? 1 : 0) +
                       (goal.step_time_at_most ? 1 : 0) + (goal.training_at_most ? 1 : 0);
    for (const char* of_fleets : {"wait_p90_at_most", "goodput_at_least", "done_by"})
      if (at.json().contains(of_fleets))
        at.at(of_fleets).fail("is for plans of a fleet",
                              std::string("goals of experiments: ") + kGoals);
    if (bounds != 1)
      at.fail(std::string("must have exactly one of ") + kGoals + ", got " + at.shown());
    jobs.push_back(job_named(goal.job, experiment, at));
    const JobSpec& job = experiment.jobs[jobs.back()];
    if (goal.tokens_per_s_at_least && !has_transformer(job))
      at.at("tokens_per_s_at_least")
          .fail("is of transformers, which the model of job '" + job.name + "' is not",
                "throughput_at_least is in samples per second");
    if (goal.training_at_most && !says_length(job))
      at.at("training_at_most")
          .fail("needs the length of the training in job '" + job.name + "' of the experiment",
                kLengths);
  }
  return jobs;
}

bool by_the_hour(const PlanSpec& spec)
{
  bool any = spec.cost.node_hour != 0;
  for (const PlanChange& change : spec.changes)
    for (const PlanOption& option : change.options)
      any |= option.cost.node_hour != 0;
  return any;
}

// Sizes of the cluster; what its options do together is checked on the way.
void resolve_candidate(const PlanSpec& spec, const Value& root, const Point& point,
                       Candidate& candidate)
{
  const ResolvedExperiment resolved = resolve(point);
  candidate.nodes = resolved.nodes;
  candidate.gpus = resolved.nodes * resolved.platform.gpus_per_node();
  if (by_the_hour(spec))
    for (const JobSpec& job : resolved.spec.jobs)
      if (!says_length(job))
        root.fail("has costs by the node_hour: they need the length of the training in job '" +
                      job.name + "' of the experiment",
                  kLengths);
}

// Of a cluster for which there is no answer: what its description says. 0: it does not.
void take_size(const DocumentPtr& document, Candidate& candidate)
{
  try {
    const Value cluster = Value(document).at("cluster");
    candidate.nodes = cluster.at("nodes").json().get<int>();
    candidate.gpus =
        candidate.nodes * platforms::load_platform(cluster.at("platform")).gpus_per_node();
  } catch (const std::exception&) { // it is told why there is no answer
  }
}

// Points of the candidates that there can be.
void make_points(LoadedPlan& plan, const Value& root, const Document& base,
                 const std::vector<std::string>& profiles)
{
  std::vector<std::optional<ConfigError>> failures;
  const auto today = std::make_shared<Document>(base); // what anchors were measured with
  today->root.erase("sweep");
  for (Candidate& candidate : plan.candidates) {
    failures.emplace_back();
    std::shared_ptr<Document> document;
    try {
      document = with_options(plan.spec, base, candidate);
      Point point = single_point(document, chosen_options(plan.spec, candidate), profiles);
      point.anchored = today;
      resolve_candidate(plan.spec, root, point, candidate);
      plan.experiment.points.push_back(point);
    } catch (const ConfigError& error) {
      failures.back() = error;
      candidate.error = error.what();
      if (document)
        take_size(document, candidate);
    }
  }
  refuse_hopeless(plan.spec, plan.candidates, failures);
}

// Where the order of changes would decide, nobody knows what a candidate is.
void check_pointers(const PlanSpec& spec)
{
  std::vector<std::pair<std::size_t, std::string>> known; // change, pointer
  for (std::size_t c = 0; c < spec.changes.size(); ++c)
    for (const PlanOption& option : spec.changes[c].options) {
      if (!option.set)
        continue;
      for (const auto& entry : option.set.json().items()) {
        for (const auto& [change, pointer] : known)
          if (change != c && overlap(pointer, entry.key()))
            option.place.fail("sets " + entry.key() + ", and change '" + spec.changes[change].name +
                                  "' sets " + pointer,
                              "make them one change, or let each set a part of its own");
        known.emplace_back(c, entry.key());
      }
    }
}

// A path in the plan, as one that the experiment can follow.
Json from_anywhere(const Value& reference)
{
  const Json& json = reference.json();
  const auto& file = reference.document()->path;
  if (!json.is_string() || file.empty() || !is_file_name(json.get<std::string>()))
    return json;
  return (std::filesystem::absolute(file).parent_path() / json.get<std::string>())
      .lexically_normal()
      .string();
}

// The plan's profiles below those of the experiment.
void add_profiles(Document& document, const std::vector<Value>& profiles)
{
  if (profiles.empty())
    return;
  Json list = Json::array();
  for (const Value& profile : profiles)
    list.push_back(from_anywhere(profile));
  if (document.root.contains("profiles"))
    for (const Json& own : document.root.at("profiles"))
      list.push_back(own);
  document.root["profiles"] = std::move(list);
}

} // namespace

Settings chosen_options(const PlanSpec& spec, const Candidate& candidate)
{
  Settings settings;
  for (std::size_t c = 0; c < spec.changes.size(); ++c)
    settings.emplace_back(spec.changes[c].name, spec.changes[c].options[candidate.options[c]].name);
  return settings;
}

std::shared_ptr<Document> with_options(const PlanSpec& spec, const Document& base,
                                       const Candidate& candidate)
{
  auto document = std::make_shared<Document>(base);
  for (std::size_t c = 0; c < spec.changes.size(); ++c) {
    const PlanOption& option = spec.changes[c].options[candidate.options[c]];
    const std::string origin =
        fmt::format("{}: {} = {}", spec.name, spec.changes[c].name, option.name);
    if (option.set)
      for (const auto& entry : option.set.json().items())
        set_in_experiment(*document, entry.key(), entry.value(), origin);
  }
  return document;
}

void refuse_hopeless(const PlanSpec& spec, const std::vector<Candidate>& candidates,
                     const std::vector<std::optional<ConfigError>>& failures)
{
  for (std::size_t c = 0; c < spec.changes.size(); ++c)
    for (std::size_t o = 0; o < spec.changes[c].options.size(); ++o) {
      const std::optional<ConfigError>* first = nullptr;
      bool works = false;
      for (std::size_t i = 0; i < failures.size() && !works; ++i) {
        if (candidates[i].options[c] != o)
          continue;
        works = !failures[i];
        if (!works && first == nullptr)
          first = &failures[i];
      }
      const PlanOption& option = spec.changes[c].options[o];
      if (!works && o > 0 && option.set)
        option.place.fail("works in no combination: " + std::string((*first)->what()));
      if (!works)
        throw **first;
    }
}

PlanFile load_plan_file(const std::string& name_or_path, const std::vector<std::string>& overrides)
{
  const Value loaded = resolve_preset(name_or_path, kPlanKind);
  auto document = std::make_shared<Document>(*loaded.document());
  for (const std::string& text : overrides)
    apply_override(*document, text, "/confidence=0.5");
  const Value root{DocumentPtr(document)};
  PlanFile file{read_as<PlanSpec>(root), document, {}};
  if (file.spec.experiment && file.spec.fleet)
    root.at("fleet").fail("must not be given beside an experiment: a plan is about one of them");
  if (!file.spec.experiment && !file.spec.fleet)
    root.fail_at("experiment", "is missing, or fleet: what there is today");
  write_out_values(file.spec, root);
  check_changes(file.spec, root);
  check_pointers(file.spec);
  file.candidates = combinations(file.spec, root);
  return file;
}

void take_currency(PlanSpec& spec, const Value& root, const std::string& of_prices)
{
  if (!spec.currency.empty() && !of_prices.empty() && spec.currency != of_prices)
    root.at("currency")
        .fail("is '" + spec.currency + "', and the prices of what is planned are in '" + of_prices +
              "'");
  if (spec.currency.empty())
    spec.currency = of_prices;
}

LoadedPlan load_plan(const std::string& name_or_path, const std::vector<std::string>& overrides,
                     const std::vector<std::string>& profiles)
{
  return load_plan(load_plan_file(name_or_path, overrides), profiles);
}

LoadedPlan load_plan(const PlanFile& file, const std::vector<std::string>& profiles)
{
  const Value root{DocumentPtr(file.document)};
  LoadedPlan plan;
  plan.spec = file.spec;
  if (!plan.spec.experiment)
    root.at("fleet").fail("is no experiment, and one is needed here");
  const auto base = own_document(resolve_preset(plan.spec.experiment, kExperimentKind));
  if (!base->root.is_object())
    plan.spec.experiment.fail("must be an experiment, got " + plan.spec.experiment.shown());
  base->root.erase("expect");
  base->root.erase("sweep");
  add_profiles(*base, plan.spec.profiles);
  plan.experiment.document = base;
  plan.candidates = file.candidates;
  make_points(plan, root, *base, profiles);
  plan.experiment.spec = read_point(plan.experiment.points.front());
  plan.experiment.spec.name = plan.spec.name;
  plan.experiment.spec.description = plan.spec.description;
  take_currency(plan.spec, root, plan.experiment.spec.cluster.currency);
  plan.goal_jobs = check_goals(plan.spec, root, plan.experiment.spec);
  return plan;
}

} // namespace foretrain::experiments
