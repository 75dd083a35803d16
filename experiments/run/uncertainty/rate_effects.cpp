#include "experiments/run/uncertainty/rate_effects.hpp"

#include "experiments/run/uncertainty/interval_ends.hpp"

#include <cmath>

namespace foretrain::experiments {

RateEffects rate_effects(const Probe& probe, const ResolvedExperiment& experiment,
                         const std::vector<Variable>& variables, double interval)
{
  return {probe,
          experiment,
          variables,
          correlations(probe.point(), variables),
          linear_effects(
              probe.point(),
              [&](const Point& point, bool same) { return probe.rates(point, same); }, variables),
          [&probe](const Point& point, std::size_t job, bool same) {
            return probe.rates(point, same)[job];
          },
          half_width(interval)};
}

Deviations RateEffects::deviations(std::size_t job) const
{
  return deviations_to_ends(
      probe.point(), variables, of_rates, matrix,
      {[&](const Point& point, bool same) { return LogRates{rate(point, job, same)}; },
       of_rates.base[job], job, half_width});
}

Deviations RateEffects::over(const RateEffects& other, std::size_t job) const
{
  LinearEffects differences = of_rates;
  differences.base[job] -= other.of_rates.base[job];
  for (std::size_t v = 0; v < variables.size(); ++v) {
    differences.more[v][job] -= other.of_rates.more[v][job];
    differences.less[v][job] -= other.of_rates.less[v][job];
  }
  const auto ratio = [&](const Point& point, bool same) {
    return LogRates{rate(point, job, same) - other.rate(point, job, same)};
  };
  return deviations_to_ends(probe.point(), variables, differences, matrix,
                            {ratio, differences.base[job], job, half_width, true});
}

std::vector<Uncertainty::Part> RateEffects::left(std::size_t job) const
{
  return leftovers(probe.point(), variables, of_rates.more, job);
}

RateEffects RateEffects::without_others(std::size_t job) const
{
  return instead(job, [&it = probe](const Point& point, std::size_t i, bool same_exchanges) {
    return it.alone(point, i, same_exchanges);
  });
}

RateEffects RateEffects::on_one_gpu(std::size_t job) const
{
  return instead(job, [&it = probe](const Point& point, std::size_t i, bool) {
    return it.on_one_gpu(point, i);
  });
}

double RateEffects::of_several(std::size_t job) const
{
  double variance = 0;
  for (std::size_t v = 0; v < variables.size(); ++v)
    if (variables[v].of_several > 0)
      variance +=
          std::pow(of_rates.more[v][job] * variables[v].of_several / variables[v].spread, 2);
  return std::sqrt(variance);
}

RateEffects RateEffects::instead(std::size_t job, RateOf of) const
{
  RateEffects other = *this;
  const auto effects = linear_effects(
      probe.point(), [&](const Point& point, bool same) { return LogRates{of(point, job, same)}; },
      variables);
  other.rate = std::move(of);
  other.of_rates.base[job] = effects.base[0];
  for (std::size_t v = 0; v < variables.size(); ++v) {
    other.of_rates.more[v][job] = effects.more[v][0];
    other.of_rates.less[v][job] = effects.less[v][0];
  }
  return other;
}

} // namespace foretrain::experiments
