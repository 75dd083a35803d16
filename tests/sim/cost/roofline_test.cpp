#include "sim/cost/roofline.hpp"

#include <catch2/catch.hpp>

namespace foretrain::sim {

namespace {

Roofline device()
{
  Roofline roofline;
  roofline.peak = FlopsPerSecond(1e12);
  roofline.dense = 0.5;
  roofline.ramp = Flops(1e9);
  roofline.memory = BytesPerSecond(1e9);
  roofline.launch = Seconds(1e-3);
  return roofline;
}

} // namespace

TEST_CASE("a kernel takes its launch and the longer of arithmetic and memory", "[cost][roofline]")
{
  const Flops work(4e9); // 10 ms with the ramp
  Roofline roofline = device();
  CHECK(roofline({work, Bytes(5e6)}).value() == Approx(0.011));
  CHECK(roofline({work, Bytes(20e6)}).value() == Approx(0.021));
  roofline.in_turn = true; // one core: one after the other
  CHECK(roofline({work, Bytes(5e6)}).value() == Approx(0.016));
}

TEST_CASE("a kernel as small as the ramp runs at half the rate of large ones", "[cost][roofline]")
{
  Roofline roofline = device();
  roofline.launch = Seconds(0);
  const auto rate = [&](double work) { return work / roofline({Flops(work), {}}).value(); };
  CHECK(rate(1e9) == Approx(0.5 * 0.5e12));
  CHECK(rate(1e15) == Approx(0.5e12).epsilon(1e-3));
}

} // namespace foretrain::sim
