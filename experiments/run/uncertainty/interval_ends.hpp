// How far a quantity's interval reaches where it does not follow its parameters in proportion: a
// faster host ends where the GPU is full.
#pragma once

#include "experiments/run/keep/range.hpp"
#include "experiments/run/uncertainty/linear_effects.hpp"

namespace foretrain::experiments {

/// A quantity that has an interval, such as a job's rate, and what is known of it.
struct AskedQuantity {
  RatesOf logarithm;        // of it, as the first of the list
  double base = 0;          // the logarithm at the point asked about
  std::size_t rate = 0;     // which column of the effects is its
  double half_width = 1.64; // of its interval, in standard deviations
  bool straight = false;    // where each run is several: looked for along the effects alone
};

/// Relative standard deviations from parameters towards lower and higher values, such that the
/// interval ends where the quantity is with its parameters as they most likely are then (the design
/// point of first-order reliability methods: Hasofer, Lind, J. Eng. Mech. 100, 1974, 111-121). That
/// point is looked for where effects lead, and where that is a tenth off what they promise, in the
/// plane of these effects and those that are found there, or else along these alone. About 2 runs,
/// 20 where much is uneven; none where effects are small.
Deviations deviations_to_ends(const Point& point, const std::vector<Variable>& variables,
                              const LinearEffects& effects,
                              const std::vector<std::vector<double>>& correlations,
                              const AskedQuantity& quantity);

} // namespace foretrain::experiments
