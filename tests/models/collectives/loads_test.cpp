#include "models/collectives/loads.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::loads_test {

using namespace foretrain::models;

namespace {

sim::Hop hop(sim::Reach reach, std::vector<sim::Use> uses, double cap = sim::MaxMin::kNoCap)
{
  sim::Hop made;
  made.reach = reach;
  made.uses = std::move(uses);
  made.cap = cap;
  return made;
}

} // namespace

TEST_CASE("Loads are added up by resource, apart inside nodes and between them", "[collectives]")
{
  Loads loads;
  loads.add(hop(sim::Reach::nvlink, {{1, 1.0}, {2, 2.0}}), 3);
  loads.add(hop(sim::Reach::pcie, {{2, 1.0}}), 1);
  loads.add(hop(sim::Reach::network, {{2, 1.0}, {4, 1.0}}), 0.5);
  loads.finish();
  const auto sum = [&](int resource) { return loads.sums()[loads.sum_of(resource)]; };
  CHECK(loads.resources() == 5);
  CHECK(loads.sum_of(5) == 0);
  CHECK(sum(0) == InsideBetween{});
  CHECK(sum(1) == InsideBetween{3, 0});
  CHECK(sum(2) == InsideBetween{7, 0.5});
  CHECK(sum(4) == InsideBetween{0, 0.5});
  CHECK(loads.most() == InsideBetween{3, 0.5});
  CHECK(loads.bytes() == 4.5);
  CHECK(loads.each().empty());
}

TEST_CASE("What carries the same has one sum; what carries nothing the first", "[collectives]")
{
  Loads loads;
  for (int node = 0; node < 1000; ++node)
    loads.add(hop(sim::Reach::network, {{3 * node, 1.0}, {3 * node + 2, 1.0}}), 0.25);
  loads.finish();
  REQUIRE(loads.sums().size() == 2);
  CHECK(loads.sums()[1] == InsideBetween{0, 0.25});
  CHECK(loads.sum_of(0) == 1);
  CHECK(loads.sum_of(1) == 0);
  CHECK(loads.sum_of(2999) == 1);
}

TEST_CASE("Caps of hops bound the buffer by what crosses them", "[collectives]")
{
  Loads loads(true);
  loads.add(hop(sim::Reach::nvlink, {{0, 1.0}}, 10e9), 2);
  loads.add(hop(sim::Reach::nvlink, {{0, 1.0}}), 100); // has none
  loads.add(hop(sim::Reach::network, {{1, 1.0}}, 10e9), 0.5);
  loads.add(hop(sim::Reach::network, {{1, 1.0}}, 8e9), 0.5);
  CHECK(loads.caps() == InsideBetween{5e9, 16e9});
  REQUIRE(loads.each().size() == 4);
  CHECK(loads.each()[3].hop.cap == 8e9);
  CHECK(loads.each()[1].bytes == 100);
}

} // namespace foretrain::loads_test
