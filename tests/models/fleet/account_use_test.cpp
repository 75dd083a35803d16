#include "models/fleet/account_use.hpp"

#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::account_use_test {

TEST_CASE("use of an account falls by half in a half-life, and rises to what it holds for ever",
          "[fleet][closed-form]")
{
  constexpr double kHalfLife = 3600;
  models::fleet::AccountUse use(2, Seconds(kHalfLife));
  use.hold(1, 8);
  use.pass(Seconds(kHalfLife));
  CHECK(use.of(0) == 0);
  // The integral of 8 GPUs, each second of which is worth 2^(-age / half-life).
  const double steady = 8 * kHalfLife / std::log(2.0);
  CHECK_THAT(use.of(1), test::is(steady / 2));
  use.hold(1, -8);
  use.pass(Seconds(2 * kHalfLife));
  CHECK_THAT(use.of(1), test::is(steady / 8));
  use.hold(1, 8);
  use.pass(Seconds(100 * kHalfLife));
  CHECK_THAT(use.of(1), test::is(steady));
}

} // namespace foretrain::account_use_test
