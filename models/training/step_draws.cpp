#include "models/training/step_draws.hpp"

#include "models/training/paces.hpp"

#include <cmath>
#include <numbers>
#include <string>

namespace foretrain::models {

namespace {

constexpr double kGoldenRatio = std::numbers::phi - 1;

// The step's pair, and whether it is the second of it.
std::uint64_t pair_of(int step)
{
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(step) >> 1);
}

bool mirrored(int step)
{
  return (step & 1) != 0;
}

} // namespace

StepDraws::StepDraws(int devices, double step_variation, double speed_variation, std::uint64_t seed,
                     std::string_view stream)
    : paces_(
          paces(devices, speed_variation, sim::RandomStream(seed, std::string(stream) + "/paces"))),
      step_variation_(step_variation),
      first_phase_(sim::RandomStream(seed, std::string(stream) + "/cycles").uniform()),
      devices_(seed, stream)
{
}

double StepDraws::factor(int device, int step) const
{
  const auto i = static_cast<std::size_t>(device);
  if (step_variation_ <= 0)
    return paces_[i];
  const double normal = devices_.child(i).child(pair_of(step)).normal();
  return paces_[i] * sim::log_normal(mirrored(step) ? -normal : normal, step_variation_);
}

double StepDraws::cycle_phase(int step) const
{
  const double turns = first_phase_ + kGoldenRatio * step;
  return turns - std::floor(turns);
}

} // namespace foretrain::models
