// Where GPUs of large models lie, and which rank is on which.
#include "experiments/spec/resolve.hpp"
#include "tests/experiments/point.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::large_placement_test {

using test::run_text;

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

const char* const kJob = R"({
  "cluster": {"platform": "hgx-h100"},
  "jobs": [{"model": "llama-3-8b", "framework": "nemo", "precision": "bf16", "gpus": 8,
            "global_batch": 240, "parallel": {"tensor": 2, "zero": 1}}]})";

std::vector<platforms::GpuPlace> places(const Settings& settings)
{
  auto document = parse_document(kJob, "test");
  for (const auto& [pointer, value] : settings)
    set_value(*document, pointer, value);
  experiments::Point point;
  point.document = document;
  return experiments::resolve(point).jobs.front().ranks;
}

} // namespace

TEST_CASE("a large job has equally many GPUs on each of its nodes", "[large]")
{
  const auto share = [](int gpus, const char* nodes = nullptr) {
    Settings settings{{"/jobs/0/gpus", std::to_string(gpus)}};
    if (nodes != nullptr)
      settings.emplace_back("/cluster/nodes", nodes);
    const auto ranks = places(settings);
    return std::count_if(ranks.begin(), ranks.end(),
                         [](const platforms::GpuPlace& place) { return place.node == 0; });
  };
  CHECK(share(4) == 4);
  CHECK(share(16) == 8);
  CHECK(share(12) == 6);      // 6 and 6, not 8 and 4
  CHECK(share(24, "6") == 8); // on as few nodes as can be
  CHECK(share(30) == 6);      // on five nodes, as four can't share them
  CHECK(share(30, "4") == 8);
  CHECK(share(20) == 8); // nor can four, in pairs
  // Pairs of tensor-parallel GPUs stay on a node: five each would cut one.
  CHECK(share(10) == 8);
  CHECK(share(10, "5") == 2);
}

TEST_CASE("the order of a placement is that of the ranks: groups may cross nodes", "[large][long]")
{
  const auto step = [](const char* places) {
    const auto of = run_text(kJob, {{"/cluster/platform", "\"xe8545\""},
                                    {"/jobs/0/parallel/tensor", "4"},
                                    {"/jobs/0/global_batch", "8"},
                                    {"/jobs/0/placement", places}});
    return of.jobs.front().step_time.median;
  };
  const double packed = step("[[0,0],[0,1],[0,2],[0,3],[1,0],[1,1],[1,2],[1,3]]");
  CHECK(step("[[1,3],[1,2],[1,0],[1,1],[0,0],[0,2],[0,3],[0,1]]") == Approx(packed));
  // Tensor-parallel exchanges of the layers pass an adapter of 100 Gb/s.
  CHECK(step("[[0,0],[1,0],[0,1],[1,1],[0,2],[1,2],[0,3],[1,3]]") > 1.5 * packed);
}

} // namespace foretrain::large_placement_test
