#include "sim/base/normal_scores.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::normal_scores_test {

using sim::largest_normal_score;
using sim::normal_score;

TEST_CASE("normal scores are what order statistics of normal draws are on average", "[normal]")
{
  // Exact means of the largest of n: Harter, Biometrika 48 (1961).
  CHECK(largest_normal_score(1) == Approx(0).margin(1e-12));
  CHECK(largest_normal_score(2) == Approx(0.56419).epsilon(0.05));
  CHECK(largest_normal_score(8) == Approx(1.42360).epsilon(0.01));
  CHECK(largest_normal_score(100) == Approx(2.50759).epsilon(0.005));
}

TEST_CASE("normal scores rise and lie about 0", "[normal][property]")
{
  for (const int n : {2, 3, 8, 101})
    for (int i = 0; i < n; ++i) {
      CHECK(normal_score(i, n) == Approx(-normal_score(n - 1 - i, n)).margin(1e-12));
      if (i > 0)
        CHECK(normal_score(i, n) > normal_score(i - 1, n));
    }
}

} // namespace foretrain::normal_scores_test
