#include "models/training/fetch.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::fetch_test {

using namespace foretrain::models;

namespace {

// Three layers of 10, 20 and 30 ms; the variables of the second one travel in two buckets.
ComputeProfile profile()
{
  ComputeProfile p;
  for (const double ms : {10.0, 20.0, 30.0}) {
    p.layers.emplace_back();
    p.layers.back().forward = Seconds(ms * 1e-3);
  }
  return p;
}

Bucket bucket(double bytes, int layer)
{
  Bucket b;
  b.size = Bytes(bytes);
  b.last_layer = layer;
  return b;
}

const std::vector<Bucket> kBuckets{bucket(60e6, 2), bucket(5e6, 1), bucket(5e6, 1), bucket(2e6, 0)};

} // namespace

TEST_CASE("variables are needed when the layers before them are done", "[fetch][closed-form]")
{
  const auto points = needed_at(kBuckets, profile());
  REQUIRE(points.size() == 4);
  const double expected[] = {30e-3, 10e-3, 10e-3, 0};
  for (std::size_t i = 0; i < 4; ++i)
    CHECK_THAT(points[i].value(), test::is(expected[i]));
}

TEST_CASE("a forward pass waits for the variables that come latest", "[fetch][closed-form]")
{
  // At 1 GB/s they are there after 2, 7, 12 and 72 ms: the last layer is 42 ms late.
  CHECK_THAT(exposed_fetch(kBuckets, profile(), BytesPerSecond(1e9), FetchOrder::forward).value(),
             test::is(42e-3));
  // At 10 GB/s only the first layer waits.
  CHECK_THAT(exposed_fetch(kBuckets, profile(), BytesPerSecond(1e10), FetchOrder::forward).value(),
             test::is(0.2e-3));
  CHECK(exposed_fetch({}, profile(), BytesPerSecond(1e9), FetchOrder::forward).value() == 0);
}

TEST_CASE("in no order the first layers' variables may come last", "[fetch]")
{
  const auto forward = fetched_in(FetchOrder::forward, 50);
  for (std::size_t i = 0; i < 50; ++i)
    CHECK(forward[i] == 49 - i);
  auto any = fetched_in(FetchOrder::any, 50);
  CHECK(any == fetched_in(FetchOrder::any, 50)); // drawn once
  CHECK(any != forward);
  std::sort(any.rbegin(), any.rend());
  CHECK(any == forward);
  // A pass waits no less than for all that come before the first layer's.
  const auto order = fetched_in(FetchOrder::any, kBuckets.size());
  double until_first = 0;
  for (std::size_t i = 0; i < order.size() && (i == 0 || order[i - 1] != 3); ++i)
    until_first += kBuckets[order[i]].size.value() / 1e9;
  CHECK(until_first > 2e-3);
  CHECK(exposed_fetch(kBuckets, profile(), BytesPerSecond(1e9), FetchOrder::any).value() >=
        until_first);
}

} // namespace foretrain::fetch_test
