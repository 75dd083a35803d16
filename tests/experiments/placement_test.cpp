#include "experiments/spec/placement.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::placement_test {

using namespace foretrain::experiments;
using platforms::GpuPlace;

TEST_CASE("Round-robin goes on where the last job ended, spread begins anew")
{
  const bool round_robin = GENERATE(true, false);
  const auto document = parse_document(
      round_robin ? R"({"placement": "round-robin"})" : R"({"placement": "spread"})", "job");
  const Value at(std::shared_ptr<const Document>{document});
  JobSpec job;
  job.placement = at.at("placement");
  job.gpus = 3;
  Placer placer(4, 2);
  using Expected = std::vector<GpuPlace>;
  CHECK(placer.place(job, at, 0) == Expected{{0, 0}, {1, 0}, {2, 0}});
  job.gpus = 2;
  CHECK(placer.place(job, at, 0) ==
        (round_robin ? Expected{{3, 0}, {3, 1}} : Expected{{0, 1}, {3, 0}}));
}

TEST_CASE("A list is in the order of ranks")
{
  const auto document =
      parse_document(R"({"placement": [[1, 1], [0, 1], [1, 0]], "gpus": 3})", "job");
  const Value at(std::shared_ptr<const Document>{document});
  JobSpec job;
  job.placement = at.at("placement");
  job.gpus = 3;
  CHECK(Placer(2, 2).place(job, at, 0) == std::vector<GpuPlace>{{1, 1}, {0, 1}, {1, 0}});
}

TEST_CASE("Ranks that belong together share a node, on as few nodes as can be")
{
  const auto document = parse_document(R"({"gpus": 12})", "job");
  const Value at(std::shared_ptr<const Document>{document});
  JobSpec job;
  job.gpus = 12;
  const auto on_node = [](const std::vector<GpuPlace>& places, int node) {
    return std::count_if(places.begin(), places.end(),
                         [&](const GpuPlace& place) { return place.node == node; });
  };
  CHECK(on_node(Placer(3, 8).place(job, at, 2), 0) == 6); // 6 and 6, not 8 and 4
  CHECK(on_node(Placer(3, 8).place(job, at, 4), 0) == 4); // fours: three nodes
  CHECK(on_node(Placer(2, 8).place(job, at, 4), 0) == 8); // two nodes cannot share them evenly
  CHECK(on_node(Placer(3, 8).place(job, at, 0), 0) == 8);
  // What others have taken is passed by.
  Placer placer(3, 8);
  JobSpec first;
  first.gpus = 3;
  placer.place(first, at, 0);
  const auto beside = placer.place(job, at, 2);
  CHECK(on_node(beside, 0) == 0);
  CHECK(on_node(beside, 1) == 6);
  CHECK(on_node(beside, 2) == 6);
}

} // namespace foretrain::placement_test
