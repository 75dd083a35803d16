#include "models/training/coordination.hpp"

#include "sim/workload/program.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::coordination_test {

using namespace foretrain::models;

namespace {

double wait(const Coordination& of, double ready, double phase)
{
  sim::Program program;
  program.agree(of.cost, of.period);
  return sim::until_agreed(program.operations.front(), Seconds(ready), phase).value();
}

} // namespace

TEST_CASE("one agreement serves all gradients of a cycle", "[coordination]")
{
  Framework f;
  f.overlap = Overlap::buckets;
  f.fusion_cycle = Seconds(5e-3);
  f.coordination = Seconds(1e-4);
  f.coordination_per_rank = Seconds(4e-6);
  const Coordination few(f, 25); // 0.2 ms
  CHECK_THAT(few.cost.value(), test::is(2e-4));
  // The thread wakes at 0, 5, 10 ms: what is ready at 6 and at 9 ms is agreed upon together.
  CHECK_THAT(wait(few, 6e-3, 0), test::is(4.2e-3));
  CHECK_THAT(wait(few, 9e-3, 0), test::is(1.2e-3));
  CHECK_THAT(wait(few, 6e-3, 0.3), test::is(0.7e-3)); // it wakes at 6.5 ms

  // 4000 ranks need 16.1 ms for one: the next one follows at once, not every 5 ms.
  const Coordination many(f, 4000);
  CHECK_THAT(wait(many, 17e-3, 0), test::is(32.2e-3 - 17e-3 + 16.1e-3));
}

TEST_CASE("without a cycle every bucket is agreed upon by itself", "[coordination]")
{
  Framework f;
  f.coordination = Seconds(2e-5);
  CHECK_THAT(wait(Coordination(f, 8), 3e-3, 0.4), test::is(2e-5));
}

} // namespace foretrain::coordination_test
