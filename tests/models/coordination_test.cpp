#include "models/coordination.hpp"

#include "tests/support/catch.hpp"

using namespace foretrain;
using namespace foretrain::models;

TEST_CASE("one agreement serves all gradients of a cycle", "[coordination]")
{
  Framework f;
  f.overlap = Overlap::buckets;
  f.fusion_cycle = Seconds(5e-3);
  f.coordination = Seconds(1e-4);
  f.coordination_per_rank = Seconds(4e-6);
  const Coordination few(f, 25); // 0.2 ms
  CHECK_THAT(few.cost().value(), test::is(2e-4));
  // The thread wakes at 0, 5, 10 ms: what is ready at 6 and at 9 ms is agreed upon together.
  CHECK_THAT(few.wait(Seconds(6e-3), 0).value(), test::is(4.2e-3));
  CHECK_THAT(few.wait(Seconds(9e-3), 0).value(), test::is(1.2e-3));
  CHECK_THAT(few.wait(Seconds(6e-3), 0.3).value(), test::is(0.7e-3)); // it wakes at 6.5 ms

  // 4000 ranks need 16.1 ms for one: the next one follows at once, not every 5 ms.
  const Coordination many(f, 4000);
  CHECK_THAT(many.wait(Seconds(17e-3), 0).value(), test::is(32.2e-3 - 17e-3 + 16.1e-3));
}

TEST_CASE("without a cycle every bucket is agreed upon by itself", "[coordination]")
{
  Framework f;
  f.coordination = Seconds(2e-5);
  CHECK_THAT(Coordination(f, 8).wait(Seconds(3e-3), 0.4).value(), test::is(2e-5));
}
