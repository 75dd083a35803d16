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

// What a parameter does to the logarithm of a ratio of throughputs, as in Uncertainty::Part.
struct Effect {
  double if_larger = 0;
  double if_smaller = 0;
};

// Of both points' parameters.
std::map<std::string, Effect> difference(const JobResult& a, const JobResult& b)
{
  std::map<std::string, Effect> effects;
  for (const auto& [job, sign] : {std::pair{&a, 1}, std::pair{&b, -1}})
    for (const Uncertainty::Part& part : job->uncertainty->parts) {
      Effect& effect = effects[part.parameter + part.of];
      effect.if_larger += sign * part.if_larger.value_or(part.effect);
      effect.if_smaller += sign * part.if_smaller.value_or(part.effect);
    }
  return effects;
}

std::map<std::string, double> on_one_side(double sign, const std::map<std::string, Effect>& effects)
{
  std::map<std::string, double> side;
  for (const auto& [name, effect] : effects)
    side[name] = on_side(sign, effect.if_larger, effect.if_smaller);
  return side;
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

// What guests add to the deviations of a rate over another one (null: over a number, which has no
// guest); nothing where both are of one layer of the host, whose guests are alike.
Deviations with_guests(const Deviations& deviations, const JobResult& job, const JobResult* other)
{
  const auto* guest = job.uncertainty->guest ? &*job.uncertainty->guest : nullptr;
  const auto* others =
      other != nullptr && other->uncertainty->guest ? &*other->uncertainty->guest : nullptr;
  if (guest != nullptr && others != nullptr && guest->host == others->host)
    return deviations;
  const auto of = [](const GuestSpread* spread, const JobResult* its, double GuestSpread::*side) {
    return spread != nullptr ? spread->*side / half_width(its->throughput.interval) : 0;
  };
  return beside(
      deviations,
      {std::hypot(of(guest, &job, &GuestSpread::slower), of(others, other, &GuestSpread::faster)),
       std::hypot(of(guest, &job, &GuestSpread::faster), of(others, other, &GuestSpread::slower))});
}

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

double probability_above(double median, const Deviations& deviations)
{
  const double deviation = median > 0 ? deviations.below : deviations.above;
  if (deviation <= 0)
    return median > 0 ? 1 : median < 0 ? 0 : 0.5;
  return 0.5 * std::erfc(-median / (std::sqrt(2.0) * deviation));
}

Deviations deviations_of_ratio(const JobResult& a, const JobResult& b, const Profiles* profiles)
{
  const auto effects = difference(a, b);
  const Correlations correlations(profiles);
  const auto towards = [&](double sign) {
    return std::sqrt(correlations.variance(on_one_side(sign, effects)));
  };
  const double runs = std::hypot(a.uncertainty->run_to_run, b.uncertainty->run_to_run);
  return with_guests(beside({towards(-1), towards(1)}, runs), a, &b);
}

Deviations deviations_of_rate(const JobResult& job)
{
  return with_guests(job.uncertainty->deviations(), job, nullptr);
}

double probability_faster(const JobResult& a, const JobResult& b, const Profiles* profiles)
{
  return probability_above(std::log(judged_rate(a) / judged_rate(b)),
                           deviations_of_ratio(a, b, profiles));
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
