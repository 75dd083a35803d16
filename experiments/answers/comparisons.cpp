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
  const Json* job;
  double rate;
};

// Effects of both points' parameters on the logarithm of the ratio of their throughputs.
std::map<std::string, double> difference(const Json& a, const Json& b)
{
  std::map<std::string, double> effects;
  for (const Json& part : a.at("uncertainty").at("contributions"))
    effects[part.at("parameter").get<std::string>()] += part.at("effect").get<double>();
  for (const Json& part : b.at("uncertainty").at("contributions"))
    effects[part.at("parameter").get<std::string>()] -= part.at("effect").get<double>();
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

double log_ratio_variance(const Json& a, const Json& b, const Profiles* profiles)
{
  double variance = Correlations(profiles).variance(difference(a, b));
  for (const Json* job : {&a, &b}) {
    const double run = job->at("uncertainty").at("run_to_run").get<double>();
    variance += run * run;
  }
  return variance;
}

double guest_variance(const Json& slower, const Json& other)
{
  const auto guest = [](const Json& job) { return job.at("uncertainty").value("guest", Json()); };
  const Json of = guest(slower);
  const Json beside = guest(other);
  if (of.is_null() || (!beside.is_null() && beside.at("host") == of.at("host")))
    return 0;
  const double deviation =
      of.at("slower").get<double>() /
      half_width(slower.at("throughput_samples_per_s").at("interval").get<double>());
  return deviation * deviation;
}

double probability_faster(const Json& a, const Json& b, const Profiles* profiles)
{
  const double mean = std::log(judged_rate(a) / judged_rate(b));
  const double guests = mean > 0 ? guest_variance(a, b) : guest_variance(b, a);
  return probability_above(mean, log_ratio_variance(a, b, profiles) + guests);
}

Json compare_points(const std::vector<Json>& points, const LoadedExperiment& experiment)
{
  Json result = Json::array();
  for (const JobSpec& spec : experiment.spec.jobs) {
    std::vector<Compared> candidates;
    for (std::size_t p = 0; p < points.size(); ++p) {
      if (!points[p].is_object() || !points[p].contains("jobs"))
        continue;
      for (const Json& job : points[p].at("jobs"))
        if (job.at("name") == spec.name && fits(job))
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
      result.push_back({{"job", spec.name},
                        {"point", best.point},
                        {"than", other.point},
                        {"probability", probability_faster(*best.job, *other.job, profiles)}});
    }
  }
  return result;
}

} // namespace foretrain::experiments
