// A pass as a program has it: all of its time is somewhere, as what it is.
#include "models/plans/written_pass.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::models::written_pass_test {

namespace {

// Two layers and an end; a layer's tensor-parallel exchange of 3 ms, of which 1 ms shows.
PieceCost piece()
{
  PieceCost cost;
  cost.layers = 2;
  cost.forward_compute = Seconds(22e-3);
  cost.backward_compute = Seconds(30e-3);
  cost.recompute = Seconds(10e-3);
  PlanUnit layer;
  layer.name = "layer";
  layer.count = 2;
  layer.forward = Seconds(10e-3);
  layer.backward = Seconds(18e-3);
  layer.forward_wait = Seconds(1e-3);
  layer.backward_wait = Seconds(2e-3);
  layer.ahead.tensor.whole = layer.back.tensor.whole = Seconds(3e-3);
  layer.ahead.tensor.exposed = layer.back.tensor.exposed = Seconds(1e-3);
  PlanUnit end;
  end.name = "end";
  end.layer = false;
  end.forward = Seconds(2e-3);
  end.backward = Seconds(4e-3);
  cost.units = {layer, end};
  return cost;
}

double time_of(const WrittenPass& pass, sim::Phase phase)
{
  double sum = 0;
  for (const WrittenPart& part : pass.parts)
    for (const auto* list : {&part.ahead, &part.beside})
      for (const PhaseTime& it : *list)
        sum += it.phase == phase ? it.time.value() : 0;
  return sum;
}

} // namespace

TEST_CASE("parts of a pass add up to its computing and its waits for the host", "[plans][property]")
{
  using enum sim::Phase;
  for (const int together : {1, 2}) {
    CAPTURE(together);
    const WrittenPass ahead = written_pass(piece(), false, together, Seconds(0));
    CHECK(time_of(ahead, framework) == Approx(2 * 1e-3));
    CHECK(time_of(ahead, forward) == Approx(22e-3 - 2e-3));
    const WrittenPass back = written_pass(piece(), true, together, Seconds(0));
    CHECK(time_of(back, framework) == Approx(2 * 2e-3));
    // A quarter of what is no wait repeats the forward pass.
    CHECK(time_of(back, recompute) == Approx((40e-3 - 4e-3) / 4));
    CHECK(time_of(back, backward) == Approx((40e-3 - 4e-3) * 3 / 4));
    // Gradients of weights that are put off are a fifth of it; what repeats is none of them.
    const WrittenPass rest = written_pass(piece(), true, together, Seconds(8e-3));
    CHECK(rest.put_off.value() == Approx(8e-3));
    CHECK(time_of(rest, framework) == Approx(0.8 * 4e-3));
    CHECK(time_of(rest, recompute) == Approx((40e-3 - 4e-3) / 4));
    CHECK(time_of(rest, framework) + time_of(rest, recompute) + time_of(rest, backward) ==
          Approx(0.8 * 40e-3));
  }
}

TEST_CASE("an exchange has beside it what hides it, and no more", "[plans][closed-form]")
{
  const WrittenPass ahead = written_pass(piece(), false, 1, Seconds(0));
  REQUIRE(ahead.parts.size() == 3);
  for (const std::size_t layer : {0U, 1U}) {
    double beside = 0;
    for (const PhaseTime& it : ahead.parts[layer].beside)
      beside += it.time.value();
    CHECK(beside == Approx(2e-3));
  }
  CHECK(ahead.parts[2].name == std::string("end"));
  CHECK(ahead.parts[2].beside.empty());
  const WrittenPass back = written_pass(piece(), true, 1, Seconds(0));
  CHECK(back.parts[0].name == std::string("end"));
}

} // namespace foretrain::models::written_pass_test
