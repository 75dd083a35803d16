// What effects of parameters add up to: how far a rate may be off, and which of them matter.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/run/uncertainty/linear_effects.hpp"

#include <vector>

namespace foretrain::experiments {

/// Correlation of each variable with each.
std::vector<std::vector<double>> correlations(const Point& point,
                                              const std::vector<Variable>& variables);

/// What one standard deviation of each variable does to the logarithm of a rate, towards higher
/// values (`sign` 1) or lower ones (-1).
std::vector<double> effects_towards(double sign, const std::vector<Variable>& variables,
                                    const LinearEffects& effects, std::size_t rate);
/// Of two quantities with these effects.
double covariance(const std::vector<double>& a, const std::vector<double>& b,
                  const std::vector<std::vector<double>>& correlations);
/// Of a rate, of effects on both sides. A value that is the most that it can be acts on one side
/// alone.
Deviations deviations_of(const std::vector<Variable>& variables, const LinearEffects& effects,
                         const std::vector<std::vector<double>>& correlations, std::size_t rate);
/// The range of a rate with these deviations and an independent one of both sides; of a time the
/// sides are the other way round.
Range rate_widened(const Range& range, const Deviations& deviations, double beside);
Range time_widened(const Range& range, const Deviations& deviations, double beside);

/// Relative standard deviation of a rate, of causes that are independent.
double deviation_of(const std::vector<Uncertainty::Part>& parts);

/// Relative standard deviation that the bundled spreads of a kind make together.
double spread_of(const char* kind);

/// What fits of profiles left over, and does to a rate: independent of the parameters.
std::vector<Uncertainty::Part> leftovers(const Point& point, const std::vector<Variable>& variables,
                                         const std::vector<LogRates>& effects, std::size_t rate);
/// These and each variable that does anything, on the side where it does more; the largest effect
/// first.
std::vector<Uncertainty::Part> parts_of(const std::vector<Variable>& variables,
                                        const LinearEffects& effects, std::size_t rate,
                                        std::vector<Uncertainty::Part> left);

} // namespace foretrain::experiments
