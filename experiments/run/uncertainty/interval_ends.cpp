#include "experiments/run/uncertainty/interval_ends.hpp"

#include "experiments/run/simulate/anchor_runs.hpp"
#include "experiments/run/uncertainty/linear_spreads.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <set>

namespace foretrain::experiments {

namespace {

using Matrix = std::vector<std::vector<double>>;
using Effect = std::vector<double>; // of one standard deviation of each variable

constexpr double kSmallEnd = 0.05;    // end of an interval, as a logarithm, that is not looked into
constexpr double kInProportion = 0.1; // part of what effects promise that is not looked into
constexpr double kNothing = 1e-6;

// x times a and y times b.
Effect combined(double x, const Effect& a, double y, const Effect& b)
{
  Effect sum(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    sum[i] = x * a[i] + y * b[i];
  return sum;
}

// The variables with their values where they were shifted to.
std::vector<Variable> moved(std::vector<Variable> variables, const std::vector<double>& shift)
{
  std::set<std::pair<std::string, std::string>> made; // objects that the shift put there
  for (std::size_t v = 0; v < variables.size(); ++v)
    for (Variable::At& at : variables[v].at) {
      at.value.value = std::clamp(at.value.si() * std::exp(shift[v]), at.smallest, at.largest) /
                       at.value.unit_si;
      if (shift[v] != 0)
        made.emplace(at.preset, at.missing);
    }
  for (Variable& variable : variables)
    for (Variable::At& at : variable.at)
      if (made.contains({at.preset, at.missing}))
        at.missing.clear();
  return variables;
}

// Looks for one end.
class End {
public:
  End(const Point& point, const std::vector<Variable>& variables, const Matrix& correlations,
      const AskedQuantity& quantity, double sign)
      : point_(point), variables_(variables), correlations_(correlations), quantity_(quantity),
        sign_(sign)
  {
  }

  double deviation(const LinearEffects& effects) const
  {
    const Effect effect = effects_towards(sign_, variables_, effects, quantity_.rate);
    const double linear = deviation_of(effect);
    const double promised = quantity_.half_width * linear;
    if (promised < kSmallEnd)
      return linear;
    const Effect along = scaled(effect);
    const auto straight = reached(along);
    if (!straight || std::abs(*straight - promised) <= kInProportion * promised)
      return linear;
    if (quantity_.straight)
      return std::max(0.0, *straight) / quantity_.half_width;
    double furthest = *straight;
    const Effect found = found_at(shift_along(along));
    const Effect beside =
        scaled(combined(1, found, -covariance(found, along, correlations_), along));
    std::vector<Effect> ways{scaled(found)}; // of two limits that are as near the one that counts
    for (const double turn : {1.0 / 6, 1.0 / 3, 1.0 / 2}) {
      const double angle = turn * std::numbers::pi;
      ways.push_back(combined(std::cos(angle), along, std::sin(angle), beside));
    }
    for (const Effect& way : ways)
      if (const auto there = reached(way))
        furthest = std::max(furthest, *there);
    return std::max(0.0, furthest) / quantity_.half_width;
  }

private:
  // Of a quantity with that effect.
  double deviation_of(const Effect& effect) const
  {
    return std::sqrt(std::max(0.0, covariance(effect, effect, correlations_)));
  }

  // To a deviation of 1; nothing stays nothing.
  Effect scaled(const Effect& effect) const
  {
    const double size = deviation_of(effect);
    return size < kNothing ? Effect(effect.size(), 0) : combined(1 / size, effect, 0, effect);
  }

  // Of the variables' logarithms towards that end of the interval: correlated ones move along.
  std::vector<double> shift_along(const Effect& effect) const
  {
    std::vector<double> shift;
    for (std::size_t v = 0; v < variables_.size(); ++v)
      shift.push_back(
          sign_ * quantity_.half_width * variables_[v].spread *
          std::inner_product(effect.begin(), effect.end(), correlations_[v].begin(), 0.0));
    return shift;
  }

  // How far the quantity comes; nothing where that contradicts an anchor.
  std::optional<double> reached(const Effect& effect) const
  {
    try {
      const Point there = shifted(point_, variables_, shift_along(effect));
      return sign_ * (quantity_.logarithm(there, false).front() - quantity_.base);
    } catch (const UnreachedRate&) {
      return std::nullopt;
    }
  }

  // Effects where the variables were shifted to.
  Effect found_at(const std::vector<double>& shift) const
  {
    const auto there = moved(variables_, shift);
    const auto differently = [&](const Point& point, bool) {
      return LogRates{quantity_.logarithm(point, false).front()};
    };
    const LinearEffects effects =
        linear_effects(shifted(point_, variables_, shift), differently, there);
    return effects_towards(sign_, there, effects, 0);
  }

  const Point& point_;
  const std::vector<Variable>& variables_;
  const Matrix& correlations_;
  const AskedQuantity& quantity_;
  double sign_;
};

} // namespace

Deviations deviations_to_ends(const Point& point, const std::vector<Variable>& variables,
                              const LinearEffects& effects, const Matrix& correlations,
                              const AskedQuantity& quantity)
{
  const auto towards = [&](double sign) {
    return End(point, variables, correlations, quantity, sign).deviation(effects);
  };
  return {towards(-1), towards(1)};
}

} // namespace foretrain::experiments
