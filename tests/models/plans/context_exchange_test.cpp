// What context-parallel ranks of a ring hide of their exchanges.
#include "models/plans/planned_layer.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/small_plan.hpp"

namespace foretrain::models::context_exchange_test {

using test::EqualTimes;
using test::small_model;

namespace {

// Of one turn of a ring of so many ranks, whose exchanges take `exchange`.
Seconds hidden_in_a_turn(int ranks, Seconds exchange, bool backward, double cost = 0)
{
  StepSetting s = small_model(1);
  s.memory.plan.context = ranks;
  s.memory.batch.gpus = ranks;
  s.memory.batch.data = 1;
  s.memory.batch.sequence = 65536;
  s.rules.overlap_cost = cost;
  EqualTimes times(exchange);
  const Exposure context = PlannedLayer(s, times, kDenseLayer).exchanges(backward).context;
  CHECK(context.exposed <= context.whole);
  return (context.whole - context.exposed) / (ranks - 1);
}

} // namespace

TEST_CASE("a ring hides beside one turn what one of its parts of the attention takes",
          "[plans][closed-form]")
{
  const Seconds endless(1e3);
  for (const bool backward : {false, true}) {
    // Of twice as many ranks each has half the attention, in twice as many turns.
    const Seconds two = hidden_in_a_turn(2, endless, backward);
    const Seconds four = hidden_in_a_turn(4, endless, backward);
    CHECK(two > Seconds(0));
    CHECK(two / four == Approx(4).epsilon(0.02));
    // Short exchanges are hidden whole, but for what they cost the kernels beside them.
    const Seconds shortest(1e-9);
    const Seconds all = hidden_in_a_turn(4, shortest, backward);
    CHECK(hidden_in_a_turn(4, shortest, backward, 0.25) / all == Approx(0.75));
  }
}

} // namespace foretrain::models::context_exchange_test
