#include "sim/engine/token_bucket.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::token_bucket_test {

using namespace foretrain::sim;

namespace {

// A link of 1000 units per second and a bucket of 200: transfers of 500 units that begin at the
// given times, and how long each takes.
std::vector<double> times_of(const std::vector<double>& starts)
{
  Engine engine;
  const ResourceId link = engine.add_resource("link", 1000);
  TokenBucket bucket(engine, link, 200);
  const PathPtr path = make_path({{link.value, 1.0}});
  std::vector<double> times(starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i)
    engine.at(Seconds(starts[i]), [&, i] {
      bucket.begin(500);
      engine.start({path, 500, 1, "transfer"}, [&, i](const FlowRecord& record) {
        bucket.end();
        times[i] = (record.finish - record.start).value();
      });
    });
  engine.run();
  return times;
}

} // namespace

TEST_CASE("a full bucket lets its burst through at once", "[closed-form]")
{
  CHECK_THAT(times_of({0})[0], test::is(0.3));
}

TEST_CASE("a pause fills the bucket at the rate, and no further", "[closed-form]")
{
  const auto times = times_of({0, 0.4, 10});
  CHECK_THAT(times[1], test::is(0.4)); // 0.1 s of pause: 100 tokens
  CHECK_THAT(times[2], test::is(0.3));
}

TEST_CASE("transfers without a pause keep to the rate", "[closed-form]")
{
  // The second begins while the first runs and finds no tokens; both share from then on.
  const auto times = times_of({0, 0.1});
  CHECK(0.1 + times[1] >= (1000.0 - 200.0) / 1000.0 - 1e-9);
}

} // namespace foretrain::token_bucket_test
