// What effects of parameters add up to: how far a rate may be off, and which of them matter.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/run/uncertainty/linear_effects.hpp"

#include <vector>

namespace foretrain::experiments {

/// Correlation of each variable with each.
std::vector<std::vector<double>> correlations(const Point& point,
                                              const std::vector<Variable>& variables);

/// Relative standard deviation of a rate, of effects as linear_effects() tells them.
double deviation_of(const std::vector<LogRates>& effects,
                    const std::vector<std::vector<double>>& correlations, std::size_t rate);
/// The same of causes that are independent.
double deviation_of(const std::vector<Uncertainty::Part>& parts);

/// What fits of profiles left over, and does to a rate: independent of the parameters.
std::vector<Uncertainty::Part> leftovers(const Point& point, const std::vector<Variable>& variables,
                                         const std::vector<LogRates>& effects, std::size_t rate);
/// These and each variable that does anything, the largest effect first.
std::vector<Uncertainty::Part> parts_of(const std::vector<Variable>& variables,
                                        const std::vector<LogRates>& effects, std::size_t rate,
                                        std::vector<Uncertainty::Part> left);

} // namespace foretrain::experiments
