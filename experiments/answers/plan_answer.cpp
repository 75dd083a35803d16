// Costs, chances and the choice: from predictions to the answer of a plan.
#include "experiments/answers/plan_answer.hpp"

#include "experiments/answers/comparisons.hpp"
#include "experiments/run/keep/judged.hpp"
#include "sim/base/json_text.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kSame = 1.005; // rates this close count as one
constexpr double kRounding = 1e-9;

// How many times as fast as the goal asks for.
double reached(const PlanGoal& goal, const JobResult& job)
{
  if (goal.throughput_at_least)
    return job.throughput.median / *goal.throughput_at_least;
  if (goal.tokens_per_s_at_least) // an option may take another model, without tokens
    return job.tokens_per_s ? job.tokens_per_s->median / *goal.tokens_per_s_at_least : 0;
  if (goal.step_time_at_most)
    return goal.step_time_at_most->value() / job.step_time.median;
  return *goal.training_at_most / job.training->total;
}

std::string text_of(const PlanGoal& goal, const std::string& job)
{
  if (goal.throughput_at_least)
    return fmt::format("{}: at least {:.6g} samples/s", job, *goal.throughput_at_least);
  if (goal.tokens_per_s_at_least)
    return fmt::format("{}: at least {:.6g} tokens/s", job, *goal.tokens_per_s_at_least);
  if (goal.step_time_at_most)
    return fmt::format("{}: a step in {:.6g} s at most", job, goal.step_time_at_most->value());
  return fmt::format("{}: trained in {:.6g} h at most", job, goal.training_at_most->value() / 3600);
}

double cost_of(const PlanSpec& spec, const Candidate& candidate, const std::vector<JobResult>& jobs)
{
  Seconds longest; // the cluster is there until the last job ends
  double sum = 0;  // GPUs are paid until their job ends
  for (const JobResult& job : jobs) {
    if (job.training)
      longest = std::max(longest, job.training->total);
    if (job.cost)
      sum += job.cost->median;
  }
  const auto of = [&](const PlanCost& cost) {
    return cost.fixed + candidate.nodes * (cost.node + cost.node_hour * longest.value() / 3600) +
           candidate.gpus * cost.gpu;
  };
  sum += of(spec.cost);
  for (std::size_t c = 0; c < spec.changes.size(); ++c)
    sum += of(spec.changes[c].options[candidate.options[c]].cost);
  return sum;
}

JudgedCandidate judged(const LoadedPlan& plan, const Candidate& of, Settings options,
                       const PointResult* point)
{
  JudgedCandidate it;
  it.options = std::move(options);
  it.nodes = of.nodes;
  it.gpus = of.gpus;
  if (point == nullptr || point->jobs.empty()) {
    it.error = point != nullptr ? point->error : !of.error.empty() ? of.error : "not reached";
    return it;
  }
  it.jobs = point->jobs;
  it.cost = cost_of(plan.spec, of, it.jobs);
  it.probability = 1; // goals share their causes: the least likely one decides
  for (std::size_t g = 0; g < plan.spec.goals.size(); ++g) {
    const JobResult& job = it.jobs.at(plan.goal_jobs[g]);
    const double ratio = reached(plan.spec.goals[g], job);
    it.goals.push_back({ratio, probability_above(std::log(ratio), deviations_of_rate(job))});
    it.probability = std::min(it.probability, it.goals.back().probability);
  }
  it.fits = std::all_of(it.jobs.begin(), it.jobs.end(),
                        [](const JobResult& job) { return job.memory.fits(); });
  return it;
}

// What is told of a candidate's own point, if it has one.
std::vector<std::string> warnings_of(const JudgedCandidate& candidate,
                                     const std::vector<PointResult>& points)
{
  const auto found = std::ranges::find(points, candidate.options, &PointResult::settings);
  return found == points.end() ? std::vector<std::string>{} : found->warnings;
}

// Not all candidates have a point, and an interrupted run holds only the points that it reached.
std::vector<JudgedCandidate> judged_candidates(const LoadedPlan& plan,
                                               const std::vector<PointResult>& points)
{
  std::vector<JudgedCandidate> all;
  std::size_t next = 0;
  for (const Candidate& it : plan.candidates) {
    Settings options = chosen_options(plan.spec, it);
    const bool there = next < points.size() && points[next].settings == options;
    all.push_back(judged(plan, it, std::move(options), there ? &points[next] : nullptr));
    next += there ? 1U : 0U;
  }
  return all;
}

// Places of values in rising order, equal for those that the last bits of their sums tell apart.
std::vector<std::size_t> ranks_of(const std::vector<double>& values)
{
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<std::size_t> ranks(values.size());
  for (std::size_t k = 1; k < order.size(); ++k) {
    const double before = values[order[k - 1]];
    const bool more = values[order[k]] - before > kRounding * std::abs(before);
    ranks[order[k]] = ranks[order[k - 1]] + (more ? 1U : 0U);
  }
  return ranks;
}

class Judgement {
public:
  Judgement(const LoadedPlan& plan, const std::vector<JudgedCandidate>& candidates)
      : plan_(plan), candidates_(candidates),
        main_job_(plan.goal_jobs.empty() ? 0 : plan.goal_jobs.front())
  {
    std::vector<double> costs, rates;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      costs.push_back(candidates[i].cost);
      rates.push_back(candidates[i].done() ? rate(i) : 0);
    }
    by_cost_ = ranks_of(costs);
    by_rate_ = ranks_of(rates);
  }

  /// The cheapest that reaches all goals with the confidence asked for, within the budget; without
  /// goals the fastest within the budget, or the cheapest of those that are hardly slower. Of equal
  /// ones the faster, or the first.
  std::optional<std::size_t> recommended() const
  {
    if (plan_.spec.goals.empty() && !plan_.spec.budget)
      return std::nullopt;
    std::vector<std::size_t> choice = allowed();
    if (plan_.spec.goals.empty() && !choice.empty()) {
      const double most =
          rate(*std::ranges::max_element(choice, {}, [this](auto i) { return rate(i); }));
      std::erase_if(choice, [&](std::size_t i) { return rate(i) * kSame < most; });
    }
    return first_of(choice,
                    [this](std::size_t i) { return std::pair(cost_rank(i), -rate_rank(i)); });
  }

  /// The fastest of those that reach all goals within the budget.
  std::optional<std::size_t> fastest() const
  {
    return first_of(allowed(),
                    [this](std::size_t i) { return std::pair(-rate_rank(i), cost_rank(i)); });
  }

  /// Those that nothing else beats at no higher cost, cheapest first.
  std::vector<std::size_t> frontier() const
  {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].possible())
        order.push_back(i);
    std::ranges::stable_sort(
        order, {}, [this](std::size_t i) { return std::pair(cost_rank(i), -rate_rank(i)); });
    double best = 0;
    std::erase_if(order, [&](std::size_t i) {
      if (rate(i) <= best * kSame)
        return true;
      best = rate(i);
      return false;
    });
    return order;
  }

  /// By the first candidate that has an answer.
  JudgedBy judged_by() const
  {
    const auto first = std::find_if(candidates_.begin(), candidates_.end(),
                                    [](const JudgedCandidate& it) { return it.done(); });
    return first != candidates_.end() && first->jobs[main_job_].training ? JudgedBy::training
                                                                         : JudgedBy::steps;
  }

  std::vector<SingleChange> single_changes() const
  {
    std::vector<SingleChange> changes;
    for (std::size_t i = 1; candidates_[0].done() && i < candidates_.size(); ++i) {
      const auto& options = plan_.candidates[i].options;
      const auto changed = std::find_if(options.begin(), options.end(), [](auto o) { return o; });
      if (!candidates_[i].done() ||
          std::any_of(changed + 1, options.end(), [](auto o) { return o != 0; }))
        continue;
      const PlanChange& change =
          plan_.spec.changes[static_cast<std::size_t>(changed - options.begin())];
      changes.push_back({change.name, change.options[*changed].name, change.options.front().name, i,
                         cost(i) - cost(0), rate(i) / rate(0),
                         probability_faster(job(i), job(0), profiles(i)),
                         job(i).bottleneck.resource, job(0).bottleneck.resource});
    }
    std::stable_sort(
        changes.begin(), changes.end(),
        [](const SingleChange& a, const SingleChange& b) { return a.ratio > b.ratio; });
    std::stable_partition(changes.begin(), changes.end(), [this](const SingleChange& it) {
      return candidates_[it.candidate].fits;
    });
    return changes;
  }

private:
  std::vector<std::size_t> allowed() const
  {
    const PlanSpec& spec = plan_.spec;
    std::vector<std::size_t> list;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].possible() && (!spec.budget || cost(i) <= *spec.budget) &&
          candidates_[i].probability >= spec.confidence)
        list.push_back(i);
    return list;
  }
  template <class Order>
  static std::optional<std::size_t> first_of(const std::vector<std::size_t>& list,
                                             const Order& order)
  {
    const auto first = std::ranges::min_element(list, {}, order);
    return first == list.end() ? std::nullopt : std::optional(*first);
  }
  std::ptrdiff_t cost_rank(std::size_t i) const { return static_cast<std::ptrdiff_t>(by_cost_[i]); }
  std::ptrdiff_t rate_rank(std::size_t i) const { return static_cast<std::ptrdiff_t>(by_rate_[i]); }
  const JobResult& job(std::size_t i) const { return candidates_[i].jobs[main_job_]; }
  double cost(std::size_t i) const { return candidates_[i].cost; }
  double rate(std::size_t i) const { return judged_rate(job(i)); }
  const Profiles* profiles(std::size_t i) const
  {
    std::size_t point = 0; // of those that can be
    for (std::size_t k = 0; k < i; ++k)
      point += plan_.candidates[k].error.empty() ? 1U : 0U;
    return plan_.experiment.points[point].profiles.get();
  }

  const LoadedPlan& plan_;
  const std::vector<JudgedCandidate>& candidates_;
  std::size_t main_job_;
  std::vector<std::size_t> by_cost_, by_rate_;
};

} // namespace

const JobResult& JudgedCandidate::job(const std::string& name) const
{
  const auto found =
      std::find_if(jobs.begin(), jobs.end(), [&](const JobResult& it) { return it.name == name; });
  return found == jobs.end() ? jobs.front() : *found;
}

std::string JudgedCandidate::words() const
{
  std::vector<std::string> words;
  for (const auto& [change, option] : options)
    words.push_back(change + ": " + value_text(option));
  return joined(words);
}

void check_fields(const Value& at, const JudgedCandidate& candidate)
{
  if (candidate.error.empty() != candidate.done())
    at.fail_at("jobs", "must be there, or an error instead");
}

void check_fields(const Value& at, const PlanAnswer& answer)
{
  if (answer.candidates.empty())
    at.fail_at("candidates", "must not be empty");
  const auto check = [&](const char* key, std::size_t place) {
    if (place >= answer.candidates.size() || !answer.candidates[place].done())
      at.fail_at(key, fmt::format("is of candidate {}, which has no answer", place));
  };
  if (answer.recommended)
    check("recommended", *answer.recommended);
  if (answer.fastest)
    check("fastest", *answer.fastest);
  for (const std::size_t place : answer.frontier)
    check("frontier", place);
  for (const SingleChange& it : answer.single_changes) {
    check("single_changes", 0);
    check("single_changes", it.candidate);
  }
}

PlanAnswer judge(const LoadedPlan& plan, const ExperimentResult& prediction)
{
  const PlanSpec& spec = plan.spec;
  PlanAnswer answer;
  answer.plan = spec.name;
  answer.description = spec.description;
  answer.version = prediction.version;
  answer.seed = prediction.seed;
  answer.fidelity = prediction.fidelity;
  answer.warnings = prediction.warnings;
  answer.interrupted = prediction.interrupted;
  answer.currency = spec.currency;
  answer.confidence = spec.confidence;
  answer.budget = spec.budget;
  const auto& jobs = plan.experiment.spec.jobs;
  for (std::size_t g = 0; g < spec.goals.size(); ++g)
    answer.goals.push_back(text_of(spec.goals[g], jobs[plan.goal_jobs[g]].name));
  answer.job = jobs[plan.goal_jobs.empty() ? 0 : plan.goal_jobs.front()].name;
  answer.candidates = judged_candidates(plan, prediction.points);
  const Judgement judgement(plan, answer.candidates);
  answer.recommended = judgement.recommended();
  answer.fastest = judgement.fastest();
  answer.judged_by = judgement.judged_by();
  answer.frontier = judgement.frontier();
  answer.single_changes = judgement.single_changes();
  const std::size_t shown = answer.recommended.value_or(answer.fastest.value_or(0)); // or today's
  for (const std::string& warning : warnings_of(answer.candidates[shown], prediction.points))
    answer.warnings.push_back(warning);
  return answer;
}

} // namespace foretrain::experiments
