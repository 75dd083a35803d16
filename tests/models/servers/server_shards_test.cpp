// Which server holds what, against the rules of BytePS and MXNet worked out by hand.
#include "models/servers/server_shards.hpp"
#include "tests/support/catch.hpp"

#include <map>

namespace foretrain::server_shards_test {

using namespace foretrain::models;

namespace {

ServerShards shards(ServerShard rule, int servers, double partition = 4e6)
{
  ServerRules rules;
  rules.shard = rule;
  rules.partition = Bytes(partition);
  return {rules, servers};
}

// Of each part: its size and its server.
std::vector<std::pair<double, int>> told(const std::vector<Shard>& parts)
{
  std::vector<std::pair<double, int>> list;
  for (const Shard& part : parts)
    list.emplace_back(part.size.value(), part.server);
  return list;
}

using List = std::vector<std::pair<double, int>>;

} // namespace

TEST_CASE("the hash of a partition's key is that of BytePS", "[servers]")
{
  // Worked out apart: DJB2 of "0", "1", "9", "10", "65536", "458755" and "13107212".
  const std::vector<std::pair<int, int>> keys{{0, 0}, {0, 1}, {0, 9},   {0, 10},
                                              {1, 0}, {7, 3}, {200, 12}};
  const std::map<int, std::vector<int>> expected{
      {2, {1, 0, 0, 0, 0, 1, 0}}, {3, {0, 1, 0, 0, 0, 2, 2}}, {8, {5, 6, 6, 6, 6, 7, 6}}};
  for (const auto& [servers, places] : expected)
    for (std::size_t i = 0; i < keys.size(); ++i)
      CHECK(server_of_partition(keys[i].first, keys[i].second, servers) == places[i]);
}

TEST_CASE("tensors are cut into partitions, the last one smaller", "[servers]")
{
  ServerShards some = shards(ServerShard::bytes, 2);
  CHECK(told(some.of(Bytes(9e6), 0)) ==
        List{{4e6, 1}, {4e6, 0}, {1e6, server_of_partition(0, 2, 2)}});
  CHECK(told(some.of(Bytes(4e6), 7)) == List{{4e6, server_of_partition(7, 0, 2)}});
  ServerShards none = shards(ServerShard::bytes, 0);
  CHECK(told(none.of(Bytes(5e6), 0)) == List{{4e6, -1}, {1e6, -1}});
}

TEST_CASE("whole tensors go to the server that holds least", "[servers]")
{
  ServerShards some = shards(ServerShard::tensor, 2);
  CHECK(told(some.of(Bytes(5e6), 0)) == List{{5e6, 0}});
  CHECK(told(some.of(Bytes(3e6), 1)) == List{{3e6, 1}});
  CHECK(told(some.of(Bytes(1e6), 2)) == List{{1e6, 1}});
  CHECK(told(some.of(Bytes(2e6), 3)) == List{{2e6, 1}});
  CHECK(told(some.of(Bytes(1e6), 4)) == List{{1e6, 0}}); // 5 MB here, 6 MB there
}

TEST_CASE("each server has a part of MXNet's large tensors, and small ones by their number",
          "[servers]")
{
  ServerShards some = shards(ServerShard::large, 4);
  CHECK(told(some.of(Bytes(4e6), 0)) == List{{1e6, 0}, {1e6, 1}, {1e6, 2}, {1e6, 3}});
  CHECK(told(some.of(Bytes(3.9e6), 0)) == List{{3.9e6, 0}});
  CHECK(told(some.of(Bytes(1e3), 1)) == List{{1e3, 1}}); // 9973 = 4 * 2493 + 1
  CHECK(told(some.of(Bytes(1e3), 6)) == List{{1e3, 2}});
  ServerShards none = shards(ServerShard::large, 0);
  CHECK(told(none.of(Bytes(9e6), 0)) == List{{9e6, -1}});
}

} // namespace foretrain::server_shards_test
