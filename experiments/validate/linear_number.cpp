#include "experiments/validate/linear_number.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::experiments {

namespace {

using Effects = std::map<std::string, double>;

// factor_a a + factor_b b, cause by cause.
Effects combined(const Effects& a, double factor_a, const Effects& b, double factor_b)
{
  Effects sum;
  for (const auto& [cause, effect] : a)
    sum[cause] += factor_a * effect;
  for (const auto& [cause, effect] : b)
    sum[cause] += factor_b * effect;
  return sum;
}

double squares(const Effects& effects)
{
  double sum = 0;
  for (const auto& [cause, effect] : effects)
    sum += effect * effect;
  return sum;
}

// Squares of those that go one way.
double squares_towards(const Effects& effects, double sign)
{
  double sum = 0;
  for (const auto& [cause, effect] : effects)
    sum += std::pow(std::max(0.0, sign * effect), 2);
  return sum;
}

} // namespace

LinearNumber operator/(const LinearNumber& a, const LinearNumber& b)
{
  const double of_a = 1 / b.value;
  const double of_b = -a.value / (b.value * b.value);
  return {a.value / b.value, combined(a.effects, of_a, b.effects, of_b),
          combined(a.guests, of_a, b.guests, of_b), a.difference || b.difference};
}

LinearNumber operator-(const LinearNumber& a, const LinearNumber& b)
{
  return {a.value - b.value, combined(a.effects, 1, b.effects, -1),
          combined(a.guests, 1, b.guests, -1), true};
}

LinearNumber operator*(double factor, LinearNumber number)
{
  number.value *= factor;
  for (auto* effects : {&number.effects, &number.guests})
    for (auto& [cause, effect] : *effects)
      effect *= factor;
  return number;
}

LinearNumber mean_of(const std::vector<LinearNumber>& numbers)
{
  const double share = 1 / static_cast<double>(numbers.size());
  LinearNumber mean;
  for (const LinearNumber& number : numbers) {
    mean.value += share * number.value;
    mean.effects = combined(mean.effects, 1, number.effects, share);
    mean.guests = combined(mean.guests, 1, number.guests, share);
    mean.difference |= number.difference;
  }
  return mean;
}

Range interval_of(const LinearNumber& number, double interval)
{
  const double all = squares(number.effects);
  const double k = half_width(interval);
  const double below = k * std::sqrt(all + squares_towards(number.guests, -1));
  const double above = k * std::sqrt(all + squares_towards(number.guests, 1));
  if (number.difference)
    return {number.value, number.value - below, number.value + above, interval};
  return {number.value, number.value * std::exp(-below / number.value),
          number.value * std::exp(above / number.value), interval};
}

} // namespace foretrain::experiments
