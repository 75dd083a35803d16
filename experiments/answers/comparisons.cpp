#include "experiments/answers/comparisons.hpp"

#include "experiments/run/keep/judged.hpp"
#include "experiments/run/keep/range.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kNearest = 10; // points told of, for each job

struct Compared {
  std::size_t point;
  const JobResult* job;
  double rate;
};

// Effects of both points' parameters on the logarithm of the ratio of their throughputs.
std::map<std::string, double> difference(const JobResult& a, const JobResult& b)
{
  std::map<std::string, double> effects;
  for (const Uncertainty::Part& part : a.uncertainty->parts)
    effects[part.parameter + part.of] += part.effect;
  for (const Uncertainty::Part& part : b.uncertainty->parts)
    effects[part.parameter + part.of] -= part.effect;
  return effects;
}

// Correlations of parameters that profiles taught together, by the names that effects have.
class Correlations {
public:
  explicit Correlations(const Profiles* profiles)
  {
    if (profiles == nullptr)
      return;
    for (const auto& profile : profiles->list)
      for (const auto& it : profile.correlations) {
        const auto name = [&](int i) {
          const auto& p = profile.parameters[static_cast<std::size_t>(i)];
          return p.kind + " " + p.preset + " " + p.pointer;
        };
        known_[{name(it.a), name(it.b)}] = it.value;
        known_[{name(it.b), name(it.a)}] = it.value;
      }
  }
  double variance(const std::map<std::string, double>& effects) const
  {
    double sum = 0;
    for (const auto& [a, effect] : effects)
      sum += effect * effect;
    for (const auto& [pair, rho] : known_) {
      const auto a = effects.find(pair.first);
      const auto b = effects.find(pair.second);
      if (a != effects.end() && b != effects.end())
        sum += rho * a->second * b->second;
    }
    return std::max(0.0, sum);
  }

private:
  std::map<std::pair<std::string, std::string>, double> known_;
};

// What a sample is: of different models it is not the same.
bool same_work(const Settings& a, const Settings& b)
{
  const auto models = [](const Settings& settings) {
    Json list = Json::array();
    for (const auto& [pointer, value] : settings)
      if (pointer.ends_with("/model") || pointer.ends_with("/dataset"))
        list.push_back({pointer, value});
    return list;
  };
  return models(a) == models(b);
}

} // namespace

double probability_above(double mean, double variance)
{
  if (variance <= 0)
    return mean > 0 ? 1 : mean < 0 ? 0 : 0.5;
  return 0.5 * std::erfc(-mean / std::sqrt(2 * variance));
}

double log_ratio_variance(const JobResult& a, const JobResult& b, const Profiles* profiles)
{
  double variance = Correlations(profiles).variance(difference(a, b));
  for (const JobResult* job : {&a, &b})
    variance += job->uncertainty->run_to_run * job->uncertainty->run_to_run;
  return variance;
}

double guest_variance(const JobResult* slower, const JobResult* other)
{
  const auto deviation = [](const JobResult* job, double GuestSpread::*side) {
    return job == nullptr || !job->uncertainty->guest
               ? 0
               : *job->uncertainty->guest.*side / half_width(job->throughput.interval);
  };
  const auto host = [](const JobResult* job) {
    return job == nullptr || !job->uncertainty->guest ? std::string()
                                                      : job->uncertainty->guest->host;
  };
  if (host(slower) == host(other))
    return 0;
  const double below = deviation(slower, &GuestSpread::slower);
  const double above = deviation(other, &GuestSpread::faster);
  return below * below + above * above;
}

double probability_faster(const JobResult& a, const JobResult& b, const Profiles* profiles)
{
  const double mean = std::log(judged_rate(a) / judged_rate(b));
  const double guests = mean > 0 ? guest_variance(&a, &b) : guest_variance(&b, &a);
  return probability_above(mean, log_ratio_variance(a, b, profiles) + guests);
}

std::vector<PointComparison> compare_points(const std::vector<std::optional<PointResult>>& points,
                                            const LoadedExperiment& experiment)
{
  std::vector<PointComparison> result;
  for (const JobSpec& spec : experiment.spec.jobs) {
    std::vector<Compared> candidates;
    for (std::size_t p = 0; p < points.size(); ++p) {
      if (!points[p])
        continue;
      for (const JobResult& job : points[p]->jobs)
        if (job.name == spec.name && job.memory.fits())
          candidates.push_back({p, &job, judged_rate(job)});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Compared& a, const Compared& b) { return a.rate > b.rate; });
    for (std::size_t i = 1; i < std::min(candidates.size(), kNearest + 1); ++i) {
      const Compared& best = candidates.front();
      const Compared& other = candidates[i];
      if (!same_work(experiment.points[best.point].settings,
                     experiment.points[other.point].settings))
        continue;
      const Profiles* profiles = experiment.points[best.point].profiles.get();
      result.push_back({spec.name, static_cast<int>(best.point), static_cast<int>(other.point),
                        probability_faster(*best.job, *other.job, profiles)});
    }
  }
  return result;
}

} // namespace foretrain::experiments
