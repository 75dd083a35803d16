#include "experiments/answers/compare.hpp"

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

constexpr double kSameWork = 1e-6; // relative

bool same(double a, double b)
{
  return std::abs(b / a - 1) <= kSameWork;
}

// Every step of a job is of that many samples.
double samples_per_step(const JobResult& job)
{
  return job.throughput.median * job.step_time.median;
}

CountedIn counted_in(const JobResult& a, const JobResult& b)
{
  return a.tokens_per_s && b.tokens_per_s && !same(tokens_per_sample(a), tokens_per_sample(b))
             ? CountedIn::tokens
             : CountedIn::samples;
}

// Where the time of a step goes that B takes longer, or saves; the largest part first. B's step may
// be of more work, by that factor less.
std::vector<DifferenceCause> causes_of(const JobResult& a, const JobResult& b, double scale)
{
  const Seconds all(b.step_time.median * scale - a.step_time.median);
  std::vector<DifferenceCause> causes;
  for (const StepPart& part : kStepParts) {
    const Seconds before = a.time.*part.time;
    const Seconds after = b.time.*part.time * scale;
    const Seconds difference = after - before;
    if (std::abs(difference.value()) > 1e-4 * a.step_time.median)
      causes.push_back(
          {part.key, before, after, difference, all.value() != 0 ? difference / all : 0.0});
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const DifferenceCause& x, const DifferenceCause& y) {
                     return std::abs(x.difference.value()) > std::abs(y.difference.value());
                   });
  return causes;
}

// Whether a bound of the ratio is broken: surely, surely not, or nobody knows.
RatioBound bound(BoundSide side, double ratio, double median, const Deviations& deviations,
                 double confidence)
{
  const double above = probability_above(median - std::log(ratio), deviations);
  const double broken = side == BoundSide::below ? 1 - above : above;
  return {side, ratio, broken,
          broken >= confidence       ? BoundState::broken
          : 1 - broken >= confidence ? BoundState::holds
                                     : BoundState::undecided};
}

// Positions of the jobs to compare: those of one name, or the only ones.
std::vector<std::pair<std::size_t, std::size_t>> job_pairs(const std::vector<JobResult>& a,
                                                           const std::vector<JobResult>& b)
{
  if (a.size() == 1 && b.size() == 1)
    return {{0, 0}};
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < b.size(); ++k)
      if (a[i].name == b[k].name)
        pairs.emplace_back(i, k);
  return pairs;
}

// The job with what is uncertain of itself called as it is of one of that name: two jobs that are
// compared are one, whatever people call them.
JobResult named(JobResult job, const std::string& name)
{
  const std::string own = job.name + ": ";
  for (Uncertainty::Part& part : job.uncertainty->parts)
    if (part.parameter.starts_with(own))
      part.parameter.replace(0, job.name.size(), name);
  return job;
}

JobComparison compare_jobs(const ComparedPair& pair, const JobResult& a, const JobResult& b,
                           const CompareOptions& options)
{
  const Profiles* profiles = pair.a->profiles ? pair.a->profiles.get() : pair.b->profiles.get();
  JobComparison told;
  told.counted_in = counted_in(a, b);
  const double ratio = told.rate(b) / told.rate(a);
  const Deviations deviations = deviations_of_ratio(named(b, a.name), a, profiles);
  const double half = half_width(options.interval);
  told.settings = pair.a->settings;
  told.job = a.name;
  told.job_b = b.name == a.name ? "" : b.name;
  told.a = {a};
  told.b = {b};
  told.ratio = {ratio, ratio * std::exp(-half * deviations.below),
                ratio * std::exp(half * deviations.above), options.interval};
  told.probability_b_faster = probability_above(std::log(ratio), deviations);
  told.samples_per_step = {samples_per_step(a), samples_per_step(b)};
  told.causes = causes_of(a, b, told.work_per_step(a) / told.work_per_step(b));
  if (options.fail_below)
    told.bounds.push_back(bound(BoundSide::below, *options.fail_below, std::log(ratio), deviations,
                                options.confidence));
  if (options.fail_above)
    told.bounds.push_back(bound(BoundSide::above, *options.fail_above, std::log(ratio), deviations,
                                options.confidence));
  return told;
}

// Which side alone is extrapolated.
void add_remarks_on(const ComparedPoint& side, const ComparedPoint& other, const char* name,
                    std::set<std::string>& warnings)
{
  for (const std::string& remark : side.warnings)
    if (remark.find("extrapolates") != std::string::npos &&
        std::find(other.warnings.begin(), other.warnings.end(), remark) == other.warnings.end())
      warnings.insert(fmt::format("{} alone: {}", name, remark));
}

// What the reader of intervals and ratios has to know.
std::vector<std::string> warnings_of(const CompareSide& a, const CompareSide& b,
                                     const std::vector<ComparedPair>& points,
                                     const std::vector<JobComparison>& pairs)
{
  std::set<std::string> warnings(a.warnings.begin(), a.warnings.end());
  warnings.insert(b.warnings.begin(), b.warnings.end());
  for (const ComparedPair& pair : points) {
    add_remarks_on(*pair.a, *pair.b, "A", warnings);
    add_remarks_on(*pair.b, *pair.a, "B", warnings);
  }
  for (const CompareSide* side : {&a, &b})
    for (const ComparedPoint& point : side->points)
      for (const JobResult& job : point.jobs)
        if (job.uncertainty->method == "steps")
          warnings.insert("intervals of '" + side->name +
                          "' show the variation from step to step only; --uncertainty linear adds "
                          "that of parameters");
  for (const JobComparison& pair : pairs) {
    for (const auto& [side, name] : {std::pair{&pair.a, "A"}, std::pair{&pair.b, "B"}})
      if (!side->job.memory.fits())
        warnings.insert(fmt::format("job '{}' does not fit in device memory in {}: its rate is "
                                    "what more would allow",
                                    pair.job, name));
    for (const SettingDifference& it : pair.differs)
      if (it.pointer.ends_with("/model") || it.pointer.ends_with("/dataset"))
        warnings.insert("models or data sets differ: a sample of A is not one of B");
    const std::string work = word_of(pair.counted_in);
    if (pair.counted_in == CountedIn::tokens)
      warnings.insert("samples are of different numbers of tokens: by these throughputs are "
                      "compared");
    if (!pair.same_work())
      warnings.insert("steps are of different numbers of " + work +
                      ": \"Why\" counts of B's as many as A's has, the parts above are of whole "
                      "steps");
  }
  return {warnings.begin(), warnings.end()};
}

bool worth_running(const ComparedPair& pair)
{
  int gpus = 0;
  for (const JobResult& job : pair.a->jobs)
    gpus += job.gpus;
  return pair.a->point && pair.b->point && gpus <= kMostGpus;
}

} // namespace

double JobComparison::rate(const JobResult& side) const
{
  return side.throughput.median * (counted_in == CountedIn::tokens ? tokens_per_sample(side) : 1);
}

double JobComparison::work_per_step(const JobResult& side) const
{
  return rate(side) * side.step_time.median;
}

bool JobComparison::same_work() const
{
  return same(work_per_step(a.job), work_per_step(b.job));
}

void check_fields(const Value& at, const CompareAnswer& answer)
{
  if (answer.pairs.empty())
    at.fail_at("pairs", "must not be empty");
}

CompareAnswer compare(const CompareSide& a, const CompareSide& b, const CompareOptions& options)
{
  const auto pairs = pairs_of(a, b);
  CompareAnswer answer;
  answer.a = {a.name, a.points.size()};
  answer.b = {b.name, b.points.size()};
  answer.version = version();
  answer.confidence = options.confidence;
  std::size_t runs = 0;
  for (const ComparedPair& pair : pairs)
    for (const auto& [i, k] : job_pairs(pair.a->jobs, pair.b->jobs)) {
      JobComparison& told =
          answer.pairs.emplace_back(compare_jobs(pair, pair.a->jobs[i], pair.b->jobs[k], options));
      told.differs = differing_settings(*pair.a, *pair.b);
      const std::size_t count = told.differs.size();
      if (options.settings_alone && count > 1 && worth_running(pair) &&
          (runs += count) <= kMostRuns)
        told.settings_alone = settings_alone(*pair.a, told.differs, i);
      for (const RatioBound& it : told.bounds)
        answer.broken |= it.state == BoundState::broken;
    }
  if (answer.pairs.empty())
    throw UsageError("no job of '" + excerpt(a.name) + "' has the name of a job of '" +
                     excerpt(b.name) + "'");
  answer.unmatched = {a.points.size() - std::min(a.points.size(), pairs.size()),
                      b.points.size() - std::min(b.points.size(), pairs.size())};
  answer.warnings = warnings_of(a, b, pairs, answer.pairs);
  return answer;
}

} // namespace foretrain::experiments
