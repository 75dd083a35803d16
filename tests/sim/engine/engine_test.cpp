#include "sim/engine/engine.hpp"

#include "sim/base/error.hpp"
#include "sim/engine/random.hpp"
#include "sim/engine/use_window.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::engine_test {

using namespace foretrain::sim;

TEST_CASE("priorities share in proportion", "[engine][closed-form]")
{
  Engine engine;
  engine.add_resource("link", 4e9);
  const auto path = make_path({{0, 1.0}});
  double light = 0;
  double heavy = 0;
  engine.start({path, 1e9, 1, "light"}, [&](const FlowRecord& r) { light = r.finish.value(); });
  engine.start({path, 3e9, 3, "heavy"}, [&](const FlowRecord& r) { heavy = r.finish.value(); });
  engine.run();
  CHECK_THAT(light, test::is(1.0));
  CHECK_THAT(heavy, test::is(1.0));
}

TEST_CASE("a window sees what was used between its dates alone", "[engine][closed-form]")
{
  Engine engine;
  const ResourceId link = engine.add_resource("link", 10e9);
  const ResourceId idle = engine.add_resource("idle", 1e9);
  ResourceId late;
  UseWindow window(engine);
  CHECK(window.share(link) == 0);
  engine.start({make_path({{link.value, 1.0}}), 10e9, 1, "begun before"}, nullptr); // until 1 s
  engine.at(Seconds(0.5), [&] { window.open(); });
  engine.at(Seconds(1), [&] {
    late = engine.add_resource("late", 4e9);
    engine.start({make_path({{late.value, 1.0}}), 8e9, 1, "ends after"}, nullptr); // until 3 s
  });
  engine.at(Seconds(2), [&] { window.close(); });
  engine.run();
  CHECK_THAT(window.share(link), test::is(5.0 / 15));
  CHECK(window.share(idle) == 0);
  CHECK_THAT(window.share(late), test::is(4.0 / 6));
}

TEST_CASE("same-date events run in the order in which they were asked for", "[engine]")
{
  Engine engine;
  std::string order;
  for (const char c : std::string("abcdefgh"))
    engine.at(Seconds(1), [&order, c] { order += c; });
  engine.at(Seconds(0.5), [&] { engine.at(Seconds(1), [&order] { order += 'z'; }); });
  engine.run();
  CHECK(order == "abcdefghz");
}

TEST_CASE("a flow that cannot end is reported with the resource it waits for", "[engine]")
{
  Engine engine;
  engine.add_resource("node0/ib0/tx", 0);
  engine.start({make_path({{0, 1.0}}), 1e6, 1, "all-reduce"}, nullptr);
  try {
    engine.run();
    FAIL("no stall reported");
  } catch (const StallError& error) {
    CHECK_THAT(error.what(), Catch::Matchers::Contains("all-reduce waits for node0/ib0/tx"));
  }
}

TEST_CASE("a flow knows what limited it and for how long", "[engine]")
{
  Engine engine;
  const ResourceId link = engine.add_resource("link", 10e9);
  const auto path = make_path({{link.value, 1.0}}, {}, 8e9);
  std::vector<LimitedBy> limits;
  engine.start({path, 8e9, 1, "watched"}, [&](const FlowRecord& r) { limits = *r.limited_by; });
  engine.start({make_path({{link.value, 1.0}}), 2.5e9, 1, "other"}, nullptr); // until 0.5 s
  engine.run();
  REQUIRE(limits.size() == 2); // 5 GB/s for 0.5 s by the link, then 8 GB/s by its cap
  CHECK(limits[0].resource == link.value);
  CHECK_THAT(limits[0].time.value(), test::is(0.5));
  CHECK(limits[1].resource == MaxMin::kOwnCap);
  CHECK_THAT(limits[1].time.value(), test::is(5.5e9 / 8e9));
  CHECK_THAT(engine.consumed(link), test::is(10.5e9));
}

TEST_CASE("capacity may change while flows run", "[engine][closed-form]")
{
  Engine engine;
  const ResourceId link = engine.add_resource("link", 1e9);
  double finish = 0;
  engine.start({make_path({{0, 1.0}}), 2e9, 1, "flow"},
               [&](const FlowRecord& r) { finish = r.finish.value(); });
  engine.at(Seconds(1), [&] { engine.set_capacity(link, 4e9); });
  engine.run();
  CHECK_THAT(finish, test::is(1.25));
}

TEST_CASE("a flow at its own cap slows down when capacity falls below it", "[engine][closed-form]")
{
  const auto sharing = GENERATE(Sharing::plugged, Sharing::plugged_full);
  Engine engine(sharing);
  const ResourceId gpu = engine.add_resource("gpu", 1);
  double finish = 0;
  engine.start({make_path({{0, 1.0}}, {}, 1), 2, 1, "kernel"},
               [&](const FlowRecord& r) { finish = r.finish.value(); });
  engine.at(Seconds(1), [&] { engine.set_capacity(gpu, 0.5); });
  engine.run();
  CHECK_THAT(finish, test::is(3.0));
}

TEST_CASE("what is held is not given away by waiting for something else", "[engine][closed-form]")
{
  const double memory = GENERATE(5.0, 1.0); // of the 10 that two threads on two cores ask for
  Engine engine;
  const ResourceId cores = engine.add_resource("cores", 4);
  engine.add_resource("memory", memory);
  double finish = 0;
  double other = 0;
  engine.start({make_path({{1, 5}}, {}, 4, Held{{{0, 1}}, 4}), 2 * memory, 1, "threads"},
               [&](const FlowRecord& r) { finish = r.finish.value(); });
  engine.start({make_path({{0, 1}}, {}, 4), 20, 4, "other"},
               [&](const FlowRecord& r) { other = r.finish.value(); });
  UseWindow window(engine);
  engine.at(Seconds(2), [&] { window.open(); });
  engine.at(Seconds(6), [&] { window.close(); });
  engine.run();
  CHECK_THAT(finish, test::is(10.0));
  CHECK_THAT(other, test::is(10.0)); // on two cores, however slow memory is
  CHECK_THAT(engine.consumed(cores), test::is(40.0));
  CHECK_THAT(window.share(cores), test::is(1.0));
}

TEST_CASE("what is held limits a flow as soon as it runs short", "[engine][closed-form]")
{
  Engine engine;
  const ResourceId cores = engine.add_resource("cores", 4);
  engine.add_resource("memory", 100);
  std::vector<LimitedBy> limits;
  engine.start({make_path({{1, 5}}, {}, 8, Held{{{0, 1}}}), 12, 1, "threads"},
               [&](const FlowRecord& r) { limits = *r.limited_by; });
  engine.at(Seconds(2), [&] { engine.set_capacity(cores, 2); });
  engine.run();
  REQUIRE(limits.size() == 1); // 4 a second for 2 s, then 2 a second
  CHECK(limits[0].resource == cores.value);
  CHECK_THAT(limits[0].time.value(), test::is(4.0));
}

TEST_CASE("priorities on what is used and on what is held are independent", "[engine][closed-form]")
{
  // On memory a unit of the threads counts as much as five of the other flow, which has no cap.
  const double cores = GENERATE(4.0, 0.6);
  Engine engine;
  engine.add_resource("cores", cores);
  engine.add_resource("memory", 12);
  double finish = 0;
  double other = 0;
  engine.start({make_path({{1, 5}}, {}, 4, Held{{{0, 1}}, 4}), 6, 0.2, "threads"},
               [&](const FlowRecord& r) { finish = r.finish.value(); });
  engine.start({make_path({{1, 1}}), 120, 1, "other"},
               [&](const FlowRecord& r) { other = r.finish.value(); });
  engine.run();
  const double rate = std::min(cores, 6.0 / 5); // half of the memory, or what the cores allow
  CHECK_THAT(finish, test::is(6 / rate));
  CHECK_THAT(other, test::is((120 + 30) / 12.0)); // memory never rests
}

TEST_CASE("random streams depend on seed, entity and index only", "[engine]")
{
  CHECK(RandomStream(1, "gpu", 3)() == RandomStream(1, "gpu", 3)());
  CHECK(RandomStream(1, "gpu", 3)() != RandomStream(2, "gpu", 3)());
  CHECK(RandomStream(1, "gpu", 3)() != RandomStream(1, "gpu", 4)());
  CHECK(RandomStream(1, "gpu", 3)() != RandomStream(1, "cpu", 3)());
  RandomStream stream(7, "jitter");
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 200000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.spread(0.05);
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kDraws;
  CHECK_THAT(mean, Catch::Matchers::WithinAbs(1.0, 1e-3));
  CHECK_THAT(std::sqrt(squares / kDraws - mean * mean), Catch::Matchers::WithinRel(0.05, 0.02));
  CHECK(stream.spread(0.0) == 1.0);
}

TEST_CASE("a flow of no bytes takes the latency of its path", "[engine][closed-form]")
{
  Engine engine;
  engine.add_resource("link", 1e9);
  double finish = 0;
  engine.start({make_path({{0, 1.0}}, Seconds(0.25)), 0, 1, "nothing"},
               [&](const FlowRecord& r) { finish = r.finish.value(); });
  engine.run();
  CHECK_THAT(finish, test::is(0.25));
}

TEST_CASE("a flow consumes of each resource what its weight there says", "[engine][closed-form]")
{
  Engine engine;
  const ResourceId link = engine.add_resource("link", 1e9);
  const ResourceId memory = engine.add_resource("memory", 1e12);
  engine.start({make_path({{link.value, 1.0}, {memory.value, 3.0}}), 2e9, 1, "flow"}, nullptr);
  engine.run();
  CHECK_THAT(engine.consumed(link), test::is(2e9));
  CHECK_THAT(engine.consumed(memory), test::is(6e9));
}

} // namespace foretrain::engine_test
