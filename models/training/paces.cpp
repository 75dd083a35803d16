#include "models/training/paces.hpp"

#include "sim/base/normal_scores.hpp"

#include <cmath>

namespace foretrain::models {

std::vector<double> paces(int ranks, double variation, sim::RandomStream random)
{
  std::vector<double> factors(static_cast<std::size_t>(ranks), 1.0);
  if (variation <= 0)
    return factors;
  for (int i = 0; i < ranks; ++i)
    factors[static_cast<std::size_t>(i)] = std::exp(variation * sim::normal_score(i, ranks));
  random.shuffle(factors);
  return factors;
}

} // namespace foretrain::models
