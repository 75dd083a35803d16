#include "models/fleet/placement.hpp"

#include "tests/support/catch.hpp"

using namespace foretrain::models::fleet;

namespace {

// Free GPUs of each node of four.
GpuSet free_gpus(const std::vector<int>& counts)
{
  GpuSet free(ClusterShape{static_cast<int>(counts.size()), 4, 0});
  for (std::size_t node = 0; node < counts.size(); ++node)
    free.add({static_cast<int>(node), lowest(~std::uint64_t{0}, counts[node])});
  return free;
}

std::vector<std::pair<int, int>> placed(Place place, const std::vector<int>& counts, int gpus,
                                        int nodes = 0, int under_switch = 0)
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
  for (const Place place : {&first_fit, &best_fit, &consolidate, &spread})
    CHECK(placed(place, free, 12).empty());
}

TEST_CASE("a job that asks for nodes gets as many GPUs on each", "[fleet]")
{
  for (const Place place : {&first_fit, &best_fit, &consolidate, &spread}) {
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
