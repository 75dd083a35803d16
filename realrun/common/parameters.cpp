#include "realrun/common/parameters.hpp"

#include <cmath>
#include <cstdint>

namespace foretrain::realrun {

namespace {

/// Uniform in (0, 1) from a 64-bit linear congruence; std::normal_distribution is not portable.
class Uniform {
public:
  explicit Uniform(std::uint64_t seed) : state_(seed * 2862933555777941757U + 3037000493U) {}
  double operator()()
  {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (static_cast<double>(state_ >> 11) + 0.5) / 9007199254740992.0;
  }

private:
  std::uint64_t state_;
};

} // namespace

std::vector<float> starting_parameters(const Program& program, int seed)
{
  std::vector<float> values(program.parameter_count);
  for (std::size_t p = 0; p < program.parameters.size(); ++p) {
    const Parameter& parameter = program.parameters[p];
    Uniform uniform(static_cast<std::uint64_t>(seed) * 1000003U + p);
    const double deviation =
        parameter.fan_in == 0 ? 0.0
                              : std::sqrt(parameter.gain / static_cast<double>(parameter.fan_in));
    for (std::size_t i = 0; i < parameter.size(); ++i) {
      const double radius = std::sqrt(-2.0 * std::log(uniform()));
      const double normal = radius * std::cos(6.283185307179586 * uniform());
      values[parameter.offset + i] = parameter.start + static_cast<float>(deviation * normal);
    }
  }
  return values;
}

} // namespace foretrain::realrun
