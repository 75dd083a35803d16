#include "experiments/answers/compare.hpp"

#include "experiments/answers/compare_settings.hpp"
#include "experiments/answers/comparisons.hpp"
#include "experiments/run/keep/judged.hpp"
#include "experiments/run/keep/range.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/base/version.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kMostRuns = 48; // of single settings
constexpr int kMostGpus = 64;         // of a point worth running again for each setting
constexpr double kSameWork = 1e-6;    // relative, of samples per step

double median_of(const Json& job, const char* quantity)
{
  return job.at(quantity).at("median").get<double>();
}

// Every step of a job is of that many samples.
double samples_per_step(const Json& job)
{
  return median_of(job, "throughput_samples_per_s") * median_of(job, "step_time_s");
}

Json told_of(const Json& job)
{
  Json told;
  for (const char* key :
       {"gpus", "nodes", "throughput_samples_per_s", "step_time_s", "tokens_per_s", "days", "cost",
        "currency", "device_memory_byte", "fits", "time_s", "efficiency", "bottleneck"})
    if (job.contains(key))
      told[key] = job.at(key);
  return told;
}

// Where the time of a step goes that B takes longer, or saves; the largest part first.
Json causes_of(const Json& a, const Json& b)
{
  // The same samples: B's step may be of more of them.
  const double scale = samples_per_step(a) / samples_per_step(b);
  std::set<std::string> parts;
  for (const Json* job : {&a, &b})
    for (const auto& part : job->at("time_s").items())
      parts.insert(part.key());
  const double all = median_of(b, "step_time_s") * scale - median_of(a, "step_time_s");
  Json causes = Json::array();
  for (const std::string& part : parts) {
    const double before = a.at("time_s").value(part, 0.0);
    const double after = b.at("time_s").value(part, 0.0) * scale;
    if (std::abs(after - before) > 1e-4 * median_of(a, "step_time_s"))
      causes.push_back({{"part", part},
                        {"a_s", before},
                        {"b_s", after},
                        {"difference_s", after - before},
                        {"share", all != 0 ? (after - before) / all : 0.0}});
  }
  std::stable_sort(causes.begin(), causes.end(), [](const Json& x, const Json& y) {
    return std::abs(x.at("difference_s").get<double>()) >
           std::abs(y.at("difference_s").get<double>());
  });
  return causes;
}

// Whether a bound of the ratio is broken: surely, surely not, or nobody knows.
Json bound(const char* side, double ratio, double mean, double variance, double confidence)
{
  const double above = probability_above(mean - std::log(ratio), variance);
  const double broken = std::string(side) == "below" ? 1 - above : above;
  return {{"side", side},
          {"ratio", ratio},
          {"probability_broken", broken},
          {"state", broken >= confidence       ? "broken"
                    : 1 - broken >= confidence ? "holds"
                                               : "undecided"}};
}

// Positions of the jobs to compare: those of one name, or the only ones.
std::vector<std::pair<std::size_t, std::size_t>> job_pairs(const Json& a, const Json& b)
{
  if (a.size() == 1 && b.size() == 1)
    return {{0, 0}};
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < b.size(); ++k)
      if (a[i].at("name") == b[k].at("name"))
        pairs.emplace_back(i, k);
  return pairs;
}

Json compare_jobs(const ComparedPair& pair, const Json& a, const Json& b,
                  const CompareOptions& options)
{
  const Profiles* profiles = pair.a->profiles ? pair.a->profiles.get() : pair.b->profiles.get();
  const double ratio =
      median_of(b, "throughput_samples_per_s") / median_of(a, "throughput_samples_per_s");
  const double variance = log_ratio_variance(b, a, profiles);
  const double below = variance + guest_variance(b, a); // B slower than expected
  const double above = variance + guest_variance(a, b);
  const double half = half_width(options.interval);
  Json json = {{"settings", pair.a->settings}, {"job", a.at("name")}};
  if (a.at("name") != b.at("name"))
    json["job_b"] = b.at("name");
  json["a"] = told_of(a);
  json["b"] = told_of(b);
  json["ratio"] = {{"median", ratio},
                   {"low", ratio * std::exp(-half * std::sqrt(below))},
                   {"high", ratio * std::exp(half * std::sqrt(above))},
                   {"interval", options.interval}};
  json["probability_b_faster"] = probability_above(std::log(ratio), ratio > 1 ? below : above);
  json["samples_per_step"] = {{"a", samples_per_step(a)}, {"b", samples_per_step(b)}};
  json["causes"] = causes_of(a, b);
  json["bounds"] = Json::array();
  if (options.fail_below)
    json["bounds"].push_back(
        bound("below", *options.fail_below, std::log(ratio), below, options.confidence));
  if (options.fail_above)
    json["bounds"].push_back(
        bound("above", *options.fail_above, std::log(ratio), above, options.confidence));
  return json;
}

// What the reader of intervals and ratios has to know.
void add_warnings(const CompareSide& a, const CompareSide& b, Json& answer)
{
  std::set<std::string> warnings(a.warnings.begin(), a.warnings.end());
  warnings.insert(b.warnings.begin(), b.warnings.end());
  for (const CompareSide* side : {&a, &b})
    for (const ComparedPoint& point : side->points)
      for (const Json& job : point.jobs)
        if (job.at("uncertainty").at("method") == "steps")
          warnings.insert("intervals of '" + side->name +
                          "' show the variation from step to step only; --uncertainty linear adds "
                          "that of parameters");
  for (const Json& pair : answer.at("pairs")) {
    for (const char* side : {"a", "b"})
      if (!fits(pair.at(side)))
        warnings.insert(fmt::format("job '{}' does not fit in device memory in {}: its rate is "
                                    "what more would allow",
                                    pair.at("job").get<std::string>(),
                                    side == std::string("a") ? "A" : "B"));
    for (const Json& difference : pair.at("differs")) {
      const auto pointer = difference.at("pointer").get<std::string>();
      if (pointer.ends_with("/model") || pointer.ends_with("/dataset"))
        warnings.insert("models or data sets differ: a sample of A is not one of B");
    }
    const double samples = pair.at("samples_per_step").at("a").get<double>();
    if (std::abs(pair.at("samples_per_step").at("b").get<double>() / samples - 1) > kSameWork)
      warnings.insert(
          "steps are of different numbers of samples: parts of B's step are told for as "
          "many samples as A's");
  }
  if (!warnings.empty())
    answer["warnings"] = warnings;
}

bool worth_running(const ComparedPair& pair)
{
  int gpus = 0;
  for (const Json& job : pair.a->jobs)
    gpus += job.at("gpus").get<int>();
  return pair.a->point && pair.b->point && gpus <= kMostGpus;
}

} // namespace

Json compare(const CompareSide& a, const CompareSide& b, const CompareOptions& options)
{
  const auto pairs = pairs_of(a, b);
  Json answer = {{"a", {{"name", a.name}, {"points", a.points.size()}}},
                 {"b", {{"name", b.name}, {"points", b.points.size()}}},
                 {"version", version()},
                 {"confidence", options.confidence},
                 {"pairs", Json::array()}};
  bool broken = false;
  std::size_t runs = 0;
  for (const ComparedPair& pair : pairs)
    for (const auto& [i, k] : job_pairs(pair.a->jobs, pair.b->jobs)) {
      Json json = compare_jobs(pair, pair.a->jobs[i], pair.b->jobs[k], options);
      json["differs"] = differing_settings(*pair.a, *pair.b);
      const std::size_t count = json.at("differs").size();
      if (options.settings_alone && count > 1 && worth_running(pair) &&
          (runs += count) <= kMostRuns)
        json["settings_alone"] = settings_alone(*pair.a, json.at("differs"), i);
      for (const Json& it : json.at("bounds"))
        broken |= it.at("state") == "broken";
      answer["pairs"].push_back(std::move(json));
    }
  if (answer.at("pairs").empty())
    throw UsageError("no job of '" + excerpt(a.name) + "' has the name of a job of '" +
                     excerpt(b.name) + "'");
  answer["unmatched"] = {{"a", a.points.size() - std::min(a.points.size(), pairs.size())},
                         {"b", b.points.size() - std::min(b.points.size(), pairs.size())}};
  add_warnings(a, b, answer);
  answer["broken"] = broken;
  return answer;
}

} // namespace foretrain::experiments
