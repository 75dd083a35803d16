#include "sim/cost/roofline.hpp"

#include <catch2/catch.hpp>

namespace foretrain::sim::roofline_test {

namespace {

Roofline device()
{
  Roofline roofline;
  roofline.peak = FlopsPerSecond(1e12);
  roofline.dense = 0.5;
  roofline.memory = BytesPerSecond(1e9);
  roofline.launch = Seconds(1e-3);
  return roofline;
}

} // namespace

TEST_CASE("a kernel takes its launch and the longer of arithmetic and memory", "[cost][roofline]")
{
  const Flops work(5e9); // 10 ms
  Roofline roofline = device();
  CHECK(roofline({work, Bytes(5e6)}).value() == Approx(0.011));
  CHECK(roofline({work, Bytes(20e6)}).value() == Approx(0.021));
  roofline.in_turn = true; // one core: one after the other
  CHECK(roofline({work, Bytes(5e6)}).value() == Approx(0.016));
}

} // namespace foretrain::sim::roofline_test
