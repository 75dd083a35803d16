#include "sim/base/normal_scores.hpp"

#include <boost/math/distributions/normal.hpp>

namespace foretrain::sim {

double normal_score(int i, int n)
{
  return boost::math::quantile(boost::math::normal(), (i + 0.625) / (n + 0.25));
}

double largest_normal_score(int n)
{
  return normal_score(n - 1, n);
}

} // namespace foretrain::sim
