// Costs, chances and the choice: from predictions to the answer of a plan.
#include "experiments/answers/comparisons.hpp"
#include "experiments/answers/plan.hpp"
#include "experiments/run/keep/judged.hpp"
#include "experiments/run/keep/result_json.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kSame = 1.005; // rates this close count as one

double median_rate(const Json& job, const char* quantity)
{
  return job.at(quantity).at("median").get<double>();
}

// Of the logarithm of throughput.
double variance_of(const Json& job)
{
  const Json& uncertainty = job.at("uncertainty");
  const double parameters = uncertainty.at("from_parameters").get<double>();
  const double run = uncertainty.at("run_to_run").get<double>();
  return parameters * parameters + run * run;
}

// How many times as fast as the goal asks for.
double reached(const PlanGoal& goal, const Json& job)
{
  if (goal.throughput_at_least)
    return median_rate(job, "throughput_samples_per_s") / *goal.throughput_at_least;
  if (goal.tokens_per_s_at_least)
    return job.contains("tokens_per_s") // an option may take another model
               ? median_rate(job, "tokens_per_s") / *goal.tokens_per_s_at_least
               : 0;
  if (goal.step_time_at_most)
    return goal.step_time_at_most->value() / median_rate(job, "step_time_s");
  return goal.training_at_most->value() / job.at("training_s").at("total").get<double>();
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

double cost_of(const PlanSpec& spec, const Candidate& candidate, const Json& jobs)
{
  double longest = 0; // the cluster is there until the last job ends
  double sum = 0;     // GPUs are paid until their job ends
  for (const Json& job : jobs) {
    if (job.contains("training_s"))
      longest = std::max(longest, job.at("training_s").at("total").get<double>());
    if (job.contains("cost"))
      sum += median_rate(job, "cost");
  }
  const auto of = [&](const PlanCost& cost) {
    return cost.fixed + candidate.nodes * (cost.node + cost.node_hour * longest / 3600) +
           candidate.gpus * cost.gpu;
  };
  sum += of(spec.cost);
  for (std::size_t c = 0; c < spec.changes.size(); ++c)
    sum += of(spec.changes[c].options[candidate.options[c]].cost);
  return sum;
}

class Judgement {
public:
  Judgement(const LoadedPlan& plan, const Json& prediction)
      : plan_(plan), main_job_(plan.goal_jobs.empty() ? 0 : plan.goal_jobs.front())
  {
    // Not all have a point, and an interrupted run holds only the points that it reached.
    const Json& points = prediction.at("points");
    std::size_t next = 0;
    for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
      const Json options = settings_json(chosen_options(plan.spec, plan.candidates[i]));
      const std::string& error = plan.candidates[i].error;
      const bool there = next < points.size() && points[next].at("settings") == options;
      const Json failed = {{"error", error.empty() ? "not reached" : error}};
      candidates_.push_back(candidate(i, options, there ? points[next] : failed));
      next += there ? 1U : 0U;
    }
  }

  Json candidates() const { return candidates_; }

  /// The cheapest that reaches all goals with the confidence asked for, within the budget; without
  /// goals the fastest within the budget.
  Json recommended() const
  {
    const PlanSpec& spec = plan_.spec;
    if (spec.goals.empty() && !spec.budget)
      return nullptr;
    Json best = nullptr;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!allowed(i))
        continue;
      if (best.is_null() || better(i, best.get<std::size_t>()))
        best = i;
    }
    return best;
  }

  /// The fastest of those that reach all goals within the budget.
  Json fastest() const
  {
    Json best = nullptr;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (allowed(i) && (best.is_null() || rate(i) > rate(best.get<std::size_t>())))
        best = i;
    return best;
  }

  /// Those that nothing else beats at no higher cost, cheapest first.
  Json frontier() const
  {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (possible(i))
        order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return cost(a) != cost(b) ? cost(a) < cost(b) : rate(a) > rate(b);
    });
    Json frontier = Json::array();
    double best = 0;
    for (const std::size_t i : order)
      if (rate(i) > best * kSame) {
        best = rate(i);
        frontier.push_back(i);
      }
    return frontier;
  }

  /// What rates are of: "training" where the job says how long that is, else "steps".
  const char* judged_by() const
  {
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (done(i))
        return job(i).contains("training_s") ? "training" : "steps";
    return "steps";
  }

  /// What each option does if it is all that changes, by what it brings.
  Json single_changes() const
  {
    Json changes = Json::array();
    for (std::size_t i = 1; done(0) && i < candidates_.size(); ++i) {
      const auto& options = plan_.candidates[i].options;
      const auto changed = std::find_if(options.begin(), options.end(), [](auto o) { return o; });
      if (!done(i) || std::any_of(changed + 1, options.end(), [](auto o) { return o != 0; }))
        continue;
      const PlanChange& change =
          plan_.spec.changes[static_cast<std::size_t>(changed - options.begin())];
      changes.push_back({{"change", change.name},
                         {"option", change.options[*changed].name},
                         {"instead_of", change.options.front().name},
                         {"candidate", i},
                         {"cost", cost(i) - cost(0)},
                         {"throughput_ratio", rate(i) / rate(0)},
                         {"probability_faster", probability_faster(job(i), job(0), profiles(i))},
                         {"limited_by", job(i).at("bottleneck").at("resource")},
                         {"limited_before", job(0).at("bottleneck").at("resource")}});
    }
    std::stable_sort(changes.begin(), changes.end(), [](const Json& a, const Json& b) {
      return a.at("throughput_ratio") > b.at("throughput_ratio");
    });
    return changes;
  }

private:
  Json candidate(std::size_t i, const Json& settings, const Json& point) const
  {
    const Candidate& it = plan_.candidates[i];
    Json json = {{"options", settings}, {"nodes", it.nodes}, {"gpus", it.gpus}};
    if (!point.contains("jobs")) {
      json["error"] = point.at("error");
      return json;
    }
    const Json& jobs = point.at("jobs");
    json["cost"] = cost_of(plan_.spec, it, jobs);
    double least = 1; // goals share their causes: the least likely one decides
    json["goals"] = Json::array();
    for (std::size_t g = 0; g < plan_.spec.goals.size(); ++g) {
      const Json& of = jobs.at(plan_.goal_jobs[g]);
      const double ratio = reached(plan_.spec.goals[g], of);
      const double probability = probability_above(std::log(ratio), variance_of(of));
      json["goals"].push_back({{"reached", ratio}, {"probability", probability}});
      least = std::min(least, probability);
    }
    json["probability"] = least;
    json["fits_memory"] =
        std::all_of(jobs.begin(), jobs.end(), [](const Json& job) { return fits(job); });
    json["jobs"] = jobs;
    return json;
  }

  bool allowed(std::size_t i) const
  {
    const PlanSpec& spec = plan_.spec;
    return possible(i) && (!spec.budget || cost(i) <= *spec.budget) && chance(i) >= spec.confidence;
  }
  bool possible(std::size_t i) const
  {
    return done(i) && candidates_[i].at("fits_memory").get<bool>();
  }
  bool done(std::size_t i) const { return candidates_[i].contains("jobs"); }
  const Json& job(std::size_t i) const { return candidates_[i].at("jobs").at(main_job_); }
  double cost(std::size_t i) const { return candidates_[i].at("cost").get<double>(); }
  double chance(std::size_t i) const { return candidates_[i].at("probability").get<double>(); }
  double rate(std::size_t i) const { return judged_rate(job(i)); }
  const Profiles* profiles(std::size_t i) const
  {
    std::size_t point = 0; // of those that can be
    for (std::size_t k = 0; k < i; ++k)
      point += plan_.candidates[k].error.empty() ? 1U : 0U;
    return plan_.experiment.points[point].profiles.get();
  }
  bool better(std::size_t a, std::size_t b) const
  {
    if (plan_.spec.goals.empty())
      return rate(a) != rate(b) ? rate(a) > rate(b) : cost(a) < cost(b);
    if (std::abs(cost(a) - cost(b)) > (kSame - 1) * std::abs(cost(b)))
      return cost(a) < cost(b);
    return rate(a) > rate(b) * kSame;
  }

  const LoadedPlan& plan_;
  std::size_t main_job_;
  std::vector<Json> candidates_;
};

} // namespace

Json judge(const LoadedPlan& plan, const Json& prediction)
{
  const Judgement judgement(plan, prediction);
  Json answer = {{"plan", plan.spec.name}};
  if (!plan.spec.description.empty())
    answer["description"] = plan.spec.description;
  for (const char* same : {"version", "seed", "fidelity", "warnings", "interrupted"})
    if (prediction.contains(same))
      answer[same] = prediction.at(same);
  answer["currency"] = plan.spec.currency;
  answer["confidence"] = plan.spec.confidence;
  if (plan.spec.budget)
    answer["budget"] = *plan.spec.budget;
  answer["goals"] = Json::array();
  for (std::size_t g = 0; g < plan.spec.goals.size(); ++g)
    answer["goals"].push_back(
        text_of(plan.spec.goals[g], plan.experiment.spec.jobs[plan.goal_jobs[g]].name));
  answer["job"] =
      plan.experiment.spec.jobs[plan.goal_jobs.empty() ? 0 : plan.goal_jobs.front()].name;
  answer["candidates"] = judgement.candidates();
  answer["recommended"] = judgement.recommended();
  answer["fastest"] = judgement.fastest();
  answer["judged_by"] = judgement.judged_by();
  answer["frontier"] = judgement.frontier();
  answer["single_changes"] = judgement.single_changes();
  return answer;
}

} // namespace foretrain::experiments
