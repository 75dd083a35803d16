#include "models/training/table_exchange.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::table_exchange_test {

using namespace foretrain::models;

namespace {

Layer sends(std::int64_t elements)
{
  Layer layer;
  layer.exchanged_elements = elements;
  return layer;
}

Layer gathers()
{
  Layer layer;
  layer.gathers = true;
  return layer;
}

Device of_width(int bytes)
{
  Device device;
  device.bytes_per_element = bytes;
  return device;
}

} // namespace

TEST_CASE("rows travel beside the layers between those that look up and that gather",
          "[tables][closed-form]")
{
  Network network;
  network.layers = {sends(10), {}, gathers(), {}};
  ComputeProfile profile;
  profile.layers = {{1.0_ms, 2.0_ms}, {3.0_ms, 4.0_ms}, {5.0_ms, 6.0_ms}, {7.0_ms, 8.0_ms}};
  const auto exchanges = table_exchanges(network, profile, 100, of_width(2));
  REQUIRE(exchanges.size() == 1);
  CHECK(exchanges[0].size == Bytes(10 * 100 * 2));
  CHECK_THAT(exchanges[0].looked_up.value(), test::is(1e-3));
  CHECK_THAT(exchanges[0].needed.value(), test::is(4e-3));
  CHECK_THAT(exchanges[0].gradients_there.value(), test::is(8e-3 + 6e-3));
  CHECK_THAT(exchanges[0].gradients_needed.value(), test::is(8e-3 + 6e-3 + 4e-3));
}

TEST_CASE("a layer gathers all that was sent before it", "[tables]")
{
  Network network;
  network.layers = {sends(1), sends(2), gathers(), sends(3), gathers()};
  ComputeProfile profile;
  profile.layers.assign(5, {1.0_ms, 1.0_ms});
  const auto exchanges = table_exchanges(network, profile, 1, of_width(4));
  REQUIRE(exchanges.size() == 3);
  for (const std::size_t first : {0U, 1U})
    CHECK_THAT(exchanges[first].needed.value(), test::is(2e-3));
  CHECK_THAT(exchanges[2].looked_up.value(), test::is(4e-3));
  CHECK_THAT(exchanges[2].needed.value(), test::is(4e-3));
  CHECK_THAT(exchanges[2].gradients_there.value(), test::is(1e-3));
  CHECK(exchanges[2].size == Bytes(12));
}

// Tables of rows of 3, of 6, 2 and 2 lookups: by the plan one place has the first, another both
// others.
TEST_CASE("by a plan a rank sends the sums that it makes for all samples", "[tables][closed-form]")
{
  Network network;
  network.layers = {tables_layer({{100, 6}, {100, 2}, {100, 2}}, 3), gathers()};
  ComputeProfile profile;
  profile.layers.assign(2, {1.0_ms, 1.0_ms});
  Device device = of_width(2);
  device.tables = TablePlacement{.shard_cost = 5, .shard_cost_between = 5};
  device.ranks = 2;
  const auto on_node = table_exchanges(network, profile, 10, device);
  CHECK(on_node.front().size == Bytes(1.5 * 3 * 10 * 2 * 2));
  CHECK(on_node.front().within == Bytes(0));
  // Two nodes of four: each GPU makes a part of its node's sum of each of 80 samples, the node
  // adds them up, and each GPU sends those of its 20 samples of the node to other nodes.
  device.ranks = 8;
  device.nodes = 2;
  const auto between = table_exchanges(network, profile, 10, device);
  CHECK(between.front().within == Bytes(1 * 3 * 80 * 2));
  CHECK(between.front().size == Bytes(1.5 * 3 * 20 * 2));
  CHECK(between.front().shared == Bytes(0));
  // With its state a row takes 24 bytes: the large table is divided, the others are on every GPU.
  device.optimizer.state_bytes_per_parameter = 4;
  network.layers.front() = tables_layer({{100, 6}, {50, 2}, {30, 2}}, 3);
  device.tables->replicated_below_between = Bytes(1300);
  const auto kept = table_exchanges(network, profile, 10, device);
  CHECK(kept.front().shared == Bytes(80 * 3 * 2));
}

TEST_CASE("rows that every GPU keeps are not sent, and their gradients are added up",
          "[tables][closed-form]")
{
  Network network;
  network.layers = {tables_layer({{100, 1}, {40, 1}, {30, 1}, {90, 1}}, 3), gathers()};
  network.layers.front().exchanged_elements = 12;
  ComputeProfile profile;
  profile.layers.assign(2, {1.0_ms, 1.0_ms});
  Device device = of_width(2);
  device.ranks = 8;
  device.nodes = 2;
  const auto sent = [&] { return table_exchanges(network, profile, 10, device).front(); };
  CHECK(sent().size == Bytes(12 * 10 * 2));
  CHECK(sent().shared == Bytes(0));
  // 80 samples and a threshold of 0.5 * 2 * 2: tables of 40 rows and less.
  device.frequent_rows = FrequentRows{0.5};
  CHECK(sent().size == Bytes(6 * 10 * 2));
  CHECK(sent().shared == Bytes(70 * 3 * 2));
  CHECK(sent().within == Bytes(0));
}

} // namespace foretrain::table_exchange_test
