#include "experiments/run/keep/range.hpp"
#include "sim/engine/random.hpp"

#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::range_test {

using namespace foretrain::experiments;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

TEST_CASE("the variance divides by n - 1 and keeps its digits beside a large mean")
{
  CHECK_THAT(variance({1, 2, 3, 4}), WithinRel(5.0 / 3, 1e-14));
  CHECK(variance({7}) == 0);
  // A difference of squares leaves nothing of it: 1e9^2 takes all sixteen digits.
  CHECK_THAT(variance({1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4}), WithinRel(5.0 / 3, 1e-9));
  CHECK_THAT(relative_spread({9, 10, 11}), WithinRel(0.1, 1e-14));
}

TEST_CASE("half widths are those of the normal distribution")
{
  CHECK_THAT(half_width(0.9), WithinAbs(1.6448536269514722, 1e-12));
  CHECK_THAT(half_width(0.95), WithinAbs(1.959963984540054, 1e-12));
}

TEST_CASE("three values make Student's interval, many make quantiles")
{
  // t(0.95; 2) = 2.919986 for a further value: times s sqrt(1 + 1/3).
  const double factor = std::exp(2.919985580353725 * 0.01 * std::sqrt(4.0 / 3));
  const Range few = range_of({0.99, 1.0, 1.01}, 1.0, 0.9);
  CHECK_THAT(few.high, WithinRel(factor, 1e-9));
  CHECK_THAT(few.low, WithinRel(1 / factor, 1e-9));
  std::vector<double> many;
  for (int i = 0; i <= 100; ++i)
    many.push_back(1 + 0.01 * i);
  const Range wide = range_of(many, 1.5, 0.9);
  CHECK_THAT(wide.low, WithinRel(1.05, 1e-12));
  CHECK_THAT(wide.high, WithinRel(1.95, 1e-12));
  CHECK(range_of({2.0}, 2.0, 0.9).low == 2.0);
}

TEST_CASE("a further step lies in the range of few as often as is said")
{
  sim::RandomStream random(7, "range", 0);
  int inside = 0;
  constexpr int kTries = 4000;
  for (int i = 0; i < kTries; ++i) {
    std::vector<double> steps;
    for (int k = 0; k < 3; ++k)
      steps.push_back(std::exp(0.02 * random.normal()));
    const double mean = (steps[0] + steps[1] + steps[2]) / 3;
    const Range range = range_of(steps, mean, 0.9);
    const double next = std::exp(0.02 * random.normal());
    inside += range.low <= next && next <= range.high ? 1 : 0;
  }
  CHECK_THAT(static_cast<double>(inside) / kTries, WithinAbs(0.9, 0.02));
}

} // namespace foretrain::range_test
