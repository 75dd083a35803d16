// What chance does to each step of a job: how long its GPUs take, and where in its cycle the
// framework's background loop is.
#pragma once

#include "sim/engine/random.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace foretrain::models {

/// Steps come in pairs, the second of which draws the mirror image of the first (antithetic
/// variates: Hammersley and Morton, Proc. Camb. Phil. Soc. 52, 1956), so that the mean of a few
/// steps is that of many. Steps are counted from the first that is measured, those of the warm-up
/// below 0. Nothing is kept from step to step: how many come before changes no draw.
class StepDraws {
public:
  /// Of so many GPUs whose times vary from step to step and from GPU to GPU (coefficients of
  /// variation; paces.hpp); `stream` names the job's random numbers.
  StepDraws(int devices, double step_variation, double speed_variation, std::uint64_t seed,
            std::string_view stream);

  /// On the time of what the device does in the step.
  double factor(int device, int step) const;
  /// Part of its cycle that the loop has gone through when the step begins, in [0, 1): multiples of
  /// the golden ratio from where chance begins, which leave no part of the cycle out for long
  /// (Kronecker sequence: Niederreiter, Random Number Generation and Quasi-Monte Carlo Methods,
  /// SIAM 1992).
  double cycle_phase(int step) const;

private:
  std::vector<double> paces_; // of each device
  double step_variation_;
  double first_phase_;
  sim::RandomStream devices_;
};

} // namespace foretrain::models
