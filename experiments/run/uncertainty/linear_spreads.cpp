#include "experiments/run/uncertainty/linear_spreads.hpp"

#include "calibration/spreads.hpp"
#include "experiments/run/uncertainty/unexplained.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::experiments {

namespace {

constexpr double kNoSpread = 1e-6; // relative

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

std::vector<double> effects_towards(double sign, const std::vector<Variable>& variables,
                                    const LinearEffects& effects, std::size_t rate)
{
  std::vector<double> side;
  for (std::size_t v = 0; v < variables.size(); ++v)
    side.push_back(
        on_side(sign, variables[v].at_most ? 0 : effects.more[v][rate], effects.less[v][rate]));
  return side;
}

double covariance(const std::vector<double>& a, const std::vector<double>& b,
                  const std::vector<std::vector<double>>& correlations)
{
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j)
      sum += a[i] * b[j] * correlations[i][j];
  return sum;
}

Deviations deviations_of(const std::vector<Variable>& variables, const LinearEffects& effects,
                         const std::vector<std::vector<double>>& correlations, std::size_t rate)
{
  const auto towards = [&](double sign) {
    const auto side = effects_towards(sign, variables, effects, rate);
    return std::sqrt(std::max(0.0, covariance(side, side, correlations)));
  };
  return {towards(-1), towards(1)};
}

Range rate_widened(const Range& range, const Deviations& deviations, double beside)
{
  const double k = half_width(range.interval);
  const Deviations all = experiments::beside(deviations, beside);
  return widened(range, k * all.below, k * all.above);
}

Range time_widened(const Range& range, const Deviations& deviations, double beside)
{
  return rate_widened(range, Deviations{deviations.above, deviations.below}, beside);
}

std::vector<Uncertainty::Part> leftovers(const Point& point, const std::vector<Variable>& variables,
                                         const std::vector<LogRates>& effects, std::size_t rate)
{
  LogRates own;
  for (const LogRates& effect : effects)
    own.push_back(effect[rate]);
  std::vector<Uncertainty::Part> parts;
  for (const Unexplained& fit : unexplained(point, variables))
    if (const double effect = effect_of(fit, variables, own); effect > kNoSpread)
      parts.push_back({fit.name, fit.spread, effect});
  return parts;
}

double spread_of(const char* kind)
{
  double variance = 0;
  for (const calibration::SpreadLine& line : calibration::load_spreads().spreads)
    if (line.kind == kind)
      variance += line.spread * line.spread;
  return std::sqrt(variance);
}

double deviation_of(const std::vector<Uncertainty::Part>& parts)
{
  double variance = 0;
  for (const auto& part : parts)
    variance += part.effect * part.effect;
  return std::sqrt(variance);
}

std::vector<Uncertainty::Part> parts_of(const std::vector<Variable>& variables,
                                        const LinearEffects& effects, std::size_t rate,
                                        std::vector<Uncertainty::Part> left)
{
  std::vector<Uncertainty::Part> parts = std::move(left);
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const double more = effects.more[v][rate], less = effects.less[v][rate];
    Uncertainty::Part part{variables[v].name, variables[v].spread,
                           std::abs(more) < std::abs(less) ? less : more};
    if (variables[v].at_most || more != less) {
      part.if_larger = variables[v].at_most ? 0 : more;
      part.if_smaller = less;
    }
    if (std::abs(part.effect) > kNoSpread)
      parts.push_back(std::move(part));
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return std::abs(a.effect) > std::abs(b.effect);
  });
  return parts;
}

} // namespace foretrain::experiments
