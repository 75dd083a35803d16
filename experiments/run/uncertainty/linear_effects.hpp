// What each parameter's spread does to rates, from few runs.
#pragma once

#include "experiments/run/uncertainty/probe.hpp"
#include "experiments/run/uncertainty/uncertain_variables.hpp"

#include <functional>

namespace foretrain::experiments {

/// Rates of a point like the one that is asked about, with other parameters. `same_exchanges`:
/// nothing that exchanges go through differs.
using RatesOf = std::function<LogRates(const Point& point, bool same_exchanges)>;

/// Whether exchanges between GPUs may go by it.
bool changes_exchanges(const Variable& variable);

/// Effect of one standard deviation of each variable on the logarithm of each rate, of a job or
/// whatever has one: [variable][rate]. Variables that do nothing together are not run one by one.
/// One whose shift contradicts an anchor (UnreachedRate) is shifted the other way; that measurement
/// says what one is like that contradicts it both ways, and then it has no effect.
std::vector<LogRates> linear_effects(const Point& point, const RatesOf& rates,
                                     const std::vector<Variable>& variables);

} // namespace foretrain::experiments
