#include "models/fleet/placement.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::placement_test {

using namespace foretrain::models::fleet;

namespace {

// Free GPUs of each node of four.
GpuSet free_gpus(const std::vector<int>& counts)
{
  GpuSet free(ClusterShape{static_cast<int>(counts.size()), 4, 0});
  for (std::size_t node = 0; node < counts.size(); ++node)
    free.add({static_cast<int>(node), first_gpus(counts[node])});
  return free;
}

std::vector<std::pair<int, int>> placed(models::fleet::Place place, const std::vector<int>& counts,
                                        int gpus, int nodes = 0, int under_switch = 0)
{
  std::vector<std::pair<int, int>> found;
  const ClusterShape shape{static_cast<int>(counts.size()), 4, under_switch};
  for (const Slice& slice : place(free_gpus(counts), shape, {gpus, nodes}))
    found.emplace_back(slice.node, count(slice));
  return found;
}

using Found = std::vector<std::pair<int, int>>;

} // namespace

TEST_CASE("placements", "[fleet]")
{
  const std::vector<int> free{1, 4, 2, 4};
  CHECK(placed(&first_fit, free, 3) == Found{{0, 1}, {1, 2}});
  CHECK(placed(&best_fit, free, 2) == Found{{2, 2}});
  CHECK(placed(&best_fit, {1, 1, 2, 0}, 3) == Found{{2, 2}, {1, 1}});
  CHECK(placed(&consolidate, {1, 1, 2, 0}, 3).empty()); // it waits
  CHECK(placed(&consolidate, free, 6) == Found{{1, 4}, {2, 2}});
  CHECK(placed(&spread, free, 5) == Found{{1, 2}, {3, 1}, {2, 1}, {0, 1}});
  for (const models::fleet::Place place : {&first_fit, &best_fit, &consolidate, &spread})
    CHECK(placed(place, free, 12).empty());
}

TEST_CASE("a job that asks for nodes gets as many GPUs on each", "[fleet]")
{
  for (const models::fleet::Place place : {&first_fit, &best_fit, &consolidate, &spread}) {
    const Found found = placed(place, {1, 4, 2, 4}, 4, 2);
    REQUIRE(found.size() == 2);
    CHECK(found[0].second == 2);
    CHECK(found[1].second == 2);
  }
}

TEST_CASE("consolidate stays under one switch where it can", "[fleet]")
{
  CHECK(placed(&consolidate, {4, 0, 4, 4}, 8, 0, 2) == Found{{2, 4}, {3, 4}});
  CHECK(placed(&consolidate, {4, 0, 4, 0}, 8, 0, 2).size() == 2);
}

TEST_CASE("a set of GPUs counts each once, and keeps nodes of a word apart", "[fleet]")
{
  GpuSet set(ClusterShape{20, 5, 0}); // eight bits a node, sixteen nodes a word
  set.add({3, 0b10110});
  set.add({3, 0b00110}); // has them already
  set.add({4, 0b00001});
  set.add({19, 0b11111});
  CHECK(set.count() == 9);
  CHECK(set.on(3) == 0b10110);
  CHECK(set.on(4) == 0b00001);
  CHECK(set.on(2) == 0);
  CHECK(set.count_on(19) == 5);
  set.remove({3, 0b11100});
  set.remove({3, 0b11100});
  CHECK(set.on(3) == 0b00010);
  CHECK(set.count() == 7);
  set.add({5, ~GpuBits{0}}); // no more than a node has
  CHECK(set.on(5) == 0b11111);
  CHECK(set.on(6) == 0);
  GpuSet other(ClusterShape{20, 5, 0});
  other.add({5, 0b00011});
  other.add({6, 0b00011});
  set.intersect(other);
  CHECK(set.count() == 2);
  CHECK(set.contains({{5, 0b00011}}));
  CHECK_FALSE(set.contains({{6, 0b00001}}));
  GpuSet racks(ClusterShape{3, 72, 0}); // a word a node
  racks.add({1, ~GpuBits{0}});
  CHECK(racks.count() == 72);
  CHECK(racks.on(1) == first_gpus(72));
  CHECK(racks.on(2) == 0);
  racks.remove({1, first_gpus(70)});
  CHECK(racks.count_on(1) == 2);
  CHECK(lowest(racks.on(1)) == 70);
  CHECK(lowest(racks.on(1), 1) == GpuBits{1} << 70);
}

} // namespace foretrain::placement_test
