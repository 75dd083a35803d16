#include "experiments/run/uncertainty/linear_spreads.hpp"

#include "experiments/run/uncertainty/unexplained.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::experiments {

namespace {

constexpr double kNoEffect = 1e-6; // relative

} // namespace

std::vector<std::vector<double>> correlations(const Point& point,
                                              const std::vector<Variable>& variables)
{
  std::vector<std::vector<double>> matrix;
  for (std::size_t a = 0; a < variables.size(); ++a) {
    matrix.emplace_back();
    for (std::size_t b = 0; b < variables.size(); ++b)
      matrix.back().push_back(a == b ? 1 : correlation(point, variables[a], variables[b]));
  }
  return matrix;
}

double deviation_of(const std::vector<LogRates>& effects,
                    const std::vector<std::vector<double>>& correlations, std::size_t rate)
{
  double variance = 0;
  for (std::size_t a = 0; a < effects.size(); ++a)
    for (std::size_t b = 0; b < effects.size(); ++b)
      variance += effects[a][rate] * effects[b][rate] * correlations[a][b];
  return std::sqrt(std::max(0.0, variance));
}

std::vector<Uncertainty::Part> leftovers(const Point& point, const std::vector<Variable>& variables,
                                         const std::vector<LogRates>& effects, std::size_t rate)
{
  LogRates own;
  for (const LogRates& effect : effects)
    own.push_back(effect[rate]);
  std::vector<Uncertainty::Part> parts;
  for (const Unexplained& fit : unexplained(point, variables))
    if (const double effect = effect_of(fit, variables, own); effect > kNoEffect)
      parts.push_back({fit.name, fit.spread, effect});
  return parts;
}

double deviation_of(const std::vector<Uncertainty::Part>& parts)
{
  double variance = 0;
  for (const auto& part : parts)
    variance += part.effect * part.effect;
  return std::sqrt(variance);
}

std::vector<Uncertainty::Part> parts_of(const std::vector<Variable>& variables,
                                        const std::vector<LogRates>& effects, std::size_t rate,
                                        std::vector<Uncertainty::Part> left)
{
  std::vector<Uncertainty::Part> parts = std::move(left);
  for (std::size_t v = 0; v < variables.size(); ++v)
    if (std::abs(effects[v][rate]) > kNoEffect)
      parts.push_back({variables[v].name, variables[v].spread, effects[v][rate]});
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return std::abs(a.effect) > std::abs(b.effect);
  });
  return parts;
}

} // namespace foretrain::experiments
