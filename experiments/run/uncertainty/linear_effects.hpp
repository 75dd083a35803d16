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

/// Whether less of it is no mirror image of more, as of all that bytes go through: one part that is
/// faster than told waits for the next one.
bool acts_unevenly(const Variable& variable);

/// Effect of one standard deviation of each variable on the logarithm of each rate, of a job or
/// whatever has one: [variable][rate]. The sides differ for variables that act unevenly, and where
/// what is worse counts for more than what is better, as of two limits that are as near.
struct LinearEffects {
  std::vector<LogRates> more; // of a variable
  std::vector<LogRates> less; // with the sign of `more`
  LogRates base{};            // with all of them as they are
};

/// Variables that do nothing together are not run one by one. One whose shift contradicts an anchor
/// (UnreachedRate) is shifted the other way; that measurement says what one is like that
/// contradicts it both ways, and then it has no effect.
LinearEffects linear_effects(const Point& point, const RatesOf& rates,
                             const std::vector<Variable>& variables);

} // namespace foretrain::experiments
