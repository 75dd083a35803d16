#include "experiments/answers/expectations.hpp"

#include "experiments/answers/comparisons.hpp"
#include "experiments/run/keep/result_json.hpp"
#include "sim/base/quantity_text.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// A job at a point, and both as JSON, into which pointers of the file lead.
struct ToldJob {
  const JobResult* result;
  Json settings;
  Json json;
};

// Of points that have not failed.
std::vector<ToldJob> told_jobs(const ExperimentResult& result)
{
  std::vector<ToldJob> all;
  for (const PointResult& point : result.points)
    for (const JobResult& job : point.jobs)
      all.push_back({&job, settings_json(point.settings), written(job)});
  return all;
}

// Whether the point has these values: among what the sweep varies, else in the file itself.
bool applies(const ExpectationSpec& expectation, const Json& settings, const Json& input)
{
  if (!expectation.point)
    return true;
  for (const auto& wanted : expectation.point.json().items()) {
    const Json::json_pointer at(wanted.key());
    if (settings.contains(wanted.key()) ? settings.at(wanted.key()) != wanted.value()
                                        : !input.contains(at) || input.at(at) != wanted.value())
      return false;
  }
  return true;
}

// A number of a job's results; a range stands for its median.
std::optional<double> expected_number(const Json& found)
{
  if (found.is_number())
    return found.get<double>();
  if (found.is_object() && found.contains("median"))
    return found.at("median").get<double>();
  return std::nullopt;
}

std::string violation(const ExpectationSpec& expectation, double number, const std::string& what)
{
  // Bounds on equal values must not fail on the last bit.
  const double slack = 1e-9 * std::abs(number);
  if (expectation.at_least && number < *expectation.at_least - slack)
    return fmt::format("{} {:.6g}, expected at least {:g}", what, number, *expectation.at_least);
  if (expectation.at_most && number > *expectation.at_most + slack)
    return fmt::format("{} {:.6g}, expected at most {:g}", what, number, *expectation.at_most);
  return "";
}

// The job of the same name at the point that has the settings of `point` except where `than` says
// otherwise; null when there is none.
const ToldJob* counterpart(const std::vector<ToldJob>& all, const ToldJob& job,
                           const ExpectationSpec& expectation)
{
  Json wanted = job.settings;
  if (expectation.than)
    wanted.update(expectation.than.json());
  const std::string& name = expectation.than_job.empty() ? job.result->name : expectation.than_job;
  const auto found = std::find_if(all.begin(), all.end(), [&](const ToldJob& other) {
    return other.settings == wanted && other.result->name == name;
  });
  return found == all.end() ? nullptr : &*found;
}

std::string violation(const ExpectationSpec& expectation, const std::vector<ToldJob>& all,
                      const ToldJob& job)
{
  const Json::json_pointer at(expectation.quantity);
  if (!job.json.contains(at)) {
    std::vector<std::string> known;
    const Json flat = job.json.flatten();
    for (const auto& entry : flat.items())
      known.push_back(entry.key());
    const std::string meant = nearest(expectation.quantity, known);
    return "is not in the results" + (meant.empty() ? "" : "; did you mean '" + meant + "'?");
  }
  const Json& found = job.json.at(at);
  if (expectation.contains) {
    if (!found.is_string() ||
        found.get<std::string>().find(*expectation.contains) == std::string::npos)
      return fmt::format("is {}, expected to contain '{}'", found.dump(), *expectation.contains);
    return "";
  }
  if (expectation.is) {
    if (found != *expectation.is)
      return fmt::format("is {}, expected {}", found.dump(), *expectation.is);
    return "";
  }
  const auto number = expected_number(found);
  if (!number)
    return "is not a number";
  if (!expectation.than && expectation.than_job.empty())
    return violation(expectation, *number, "is");
  const ToldJob* other = counterpart(all, job, expectation);
  const auto reference = other != nullptr && other->json.contains(at)
                             ? expected_number(other->json.at(at))
                             : std::nullopt;
  if (!reference)
    return "has nothing to be compared with: no such point or job";
  return violation(expectation, *number / *reference,
                   fmt::format("is {:.6g} against {:.6g}, ratio", *number, *reference));
}

// Whether it is "/name" itself or its middle.
bool is_quantity(const std::string& quantity, const char* name)
{
  return quantity == name || quantity == std::string(name) + "/median";
}

// Times and what is paid for them. The start-up that `training_s`, `days` and `cost` hold is short
// beside a training.
bool goes_against_throughput(const std::string& quantity)
{
  static const char* const kNames[] = {"/step_time_s", "/latency_s", "/days", "/cost"};
  return quantity == "/training_s/total" ||
         std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* name) { return is_quantity(quantity, name); });
}

// What moves with throughput, or against it, by the same factor.
bool follows_throughput(const std::string& quantity)
{
  static const char* const kNames[] = {"/throughput_samples_per_s", "/tokens_per_s", "/mfu"};
  static const char* const kSingle[] = {"/tokens_per_s_per_gpu", "/model_tflops_per_gpu/full",
                                        "/model_tflops_per_gpu/causal", "/mfu/full", "/mfu/causal"};
  return goes_against_throughput(quantity) ||
         std::any_of(std::begin(kSingle), std::end(kSingle),
                     [&](const char* name) { return quantity == name; }) ||
         std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* name) { return is_quantity(quantity, name); });
}

// Of what the job does in two runs; where no parameter was varied, of both runs.
Deviations deviations_of(const std::optional<Range>& ratio, const JobResult& job)
{
  const double runs = std::sqrt(2.0) * job.uncertainty->run_to_run;
  if (!ratio)
    return {runs, runs};
  const double k = half_width(ratio->interval);
  return {std::log(ratio->median / ratio->low) / k, std::log(ratio->high / ratio->median) / k};
}

// Of a ratio of two such: the other one is on the other side.
Deviations over(const Deviations& one, const std::optional<Deviations>& other)
{
  return other ? beside(one, {other->above, other->below}) : one;
}

// Of what the simulation says of a quantity, if it is known: of what follows throughput (of times
// the sides are the other way round), of its ratio to another job's, or of a ratio to one GPU or to
// the job alone; of one GPU that is itself none.
std::optional<Deviations> deviations_of_quantity(const std::string& quantity, const JobResult& job,
                                                 const JobResult* other)
{
  const auto of_both = [&](std::optional<Range> JobResult::*range) {
    return over(deviations_of(job.*range, job),
                other != nullptr ? std::optional(deviations_of(other->*range, *other))
                                 : std::nullopt);
  };
  const bool itself = other == nullptr && job.gpus == 1 && !job.alone;
  if (quantity == "/speedup" || quantity == "/efficiency")
    return itself ? Deviations{} : of_both(&JobResult::speedup_range);
  if (quantity == "/slowdown" && job.slowdown)
    return of_both(&JobResult::slowdown_range);
  if (!follows_throughput(quantity))
    return std::nullopt;
  const Deviations rate =
      other != nullptr ? deviations_of_ratio(job, *other, nullptr) : deviations_of_rate(job);
  return goes_against_throughput(quantity) ? Deviations{rate.above, rate.below} : rate;
}

// Probability that the bounds are violated; none where the quantity's spread is not known.
std::optional<double> chance_of_violation(const ExpectationSpec& expectation,
                                          const std::vector<ToldJob>& all, const ToldJob& told)
{
  const Json::json_pointer at(expectation.quantity);
  const bool ratio = expectation.than || !expectation.than_job.empty();
  const ToldJob* told_other = ratio ? counterpart(all, told, expectation) : nullptr;
  // 0 stands for nothing to take a logarithm of.
  const auto number_in = [&at](const ToldJob* of) {
    return of != nullptr && of->json.contains(at) ? expected_number(of->json.at(at)).value_or(0)
                                                  : 0;
  };
  const double number = number_in(&told);
  const double reference = ratio ? number_in(told_other) : 1;
  const JobResult& job = *told.result;
  const JobResult* other = told_other != nullptr ? told_other->result : nullptr;
  const auto deviations = deviations_of_quantity(expectation.quantity, job, other);
  if (expectation.contains || expectation.is || !deviations || deviations->larger() <= 0 ||
      number <= 0 || reference <= 0)
    return std::nullopt;
  const double median = std::log(number / reference);
  double chance = 0;
  if (expectation.at_least && *expectation.at_least > 0)
    chance += 1 - probability_above(median - std::log(*expectation.at_least), *deviations);
  if (expectation.at_most && *expectation.at_most > 0)
    chance += probability_above(median - std::log(*expectation.at_most), *deviations);
  return std::min(1.0, chance);
}

} // namespace

bool is_narrowed(const Document& experiment)
{
  return std::any_of(experiment.overridden.begin(), experiment.overridden.end(),
                     [](const auto& set) { return !is_within(set.first, "/expect"); });
}

std::vector<JudgedExpectation> judged_expectations(const ExperimentSpec& spec,
                                                   const ExperimentResult& result, bool narrowed)
{
  std::vector<JudgedExpectation> judged;
  if (spec.expect.empty())
    return judged;
  const std::vector<ToldJob> all = told_jobs(result);
  for (std::size_t i = 0; i < spec.expect.size(); ++i) {
    const ExpectationSpec& expectation = spec.expect[i];
    // Of a point that failed it is told beside this.
    bool met_any =
        std::any_of(result.points.begin(), result.points.end(), [&](const PointResult& point) {
          return point.jobs.empty() &&
                 applies(expectation, settings_json(point.settings), result.input);
        });
    for (const ToldJob& job : all) {
      if (!applies(expectation, job.settings, result.input) ||
          (!expectation.job.empty() && job.result->name != expectation.job))
        continue;
      met_any = true;
      // With --set or fewer points the point to compare with may be gone.
      if (narrowed && (expectation.than || !expectation.than_job.empty()) &&
          counterpart(all, job, expectation) == nullptr)
        continue;
      judged.push_back({i,
                        fmt::format("{} of job '{}' at {}", expectation.quantity, job.result->name,
                                    job.settings.dump()),
                        violation(expectation, all, job),
                        chance_of_violation(expectation, all, job)});
    }
    if (!met_any && !narrowed)
      judged.push_back({i, "", "is about no point or job of this experiment", {}});
  }
  return judged;
}

std::vector<Misfit> unexpected_misfits(const ExperimentSpec& spec, const ExperimentResult& result)
{
  std::vector<Misfit> misfits;
  for (const PointResult& point : result.points)
    for (const JobResult& job : point.jobs) {
      if (job.memory.fits())
        continue;
      const Json settings = settings_json(point.settings);
      const bool expected = std::any_of(
          spec.expect.begin(), spec.expect.end(), [&](const ExpectationSpec& expectation) {
            return expectation.quantity == "/fits" &&
                   (expectation.job.empty() || job.name == expectation.job) &&
                   applies(expectation, settings, result.input);
          });
      if (!expected)
        misfits.push_back({fmt::format("memory of job '{}' at {}", job.name, settings.dump()),
                           fmt::format("does not fit: needs {} of device memory, there are {}",
                                       to_text(job.memory.needed), to_text(job.memory.available))});
    }
  return misfits;
}

std::vector<std::string> violated_expectations(const ExperimentSpec& spec,
                                               const ExperimentResult& result, bool narrowed)
{
  std::vector<std::string> lines;
  for (const JudgedExpectation& it : judged_expectations(spec, result, narrowed))
    if (!it.problem.empty())
      lines.push_back(fmt::format("/expect/{}: {}{}{}", it.index, it.what,
                                  it.what.empty() ? "" : " ", it.problem));
  return lines;
}

} // namespace foretrain::experiments
