// Jobs whose processes share a GPU share its memory.
#include "tests/experiments/point.hpp"

#include "tests/support/catch.hpp"

#include <fmt/format.h>

namespace foretrain::shared_gpu_test {

using namespace foretrain::test;

namespace {

// A job on the first two GPUs of a node and another one on the GPU of that number.
std::vector<experiments::JobResult> beside(int gpu, int batch)
{
  const std::string job =
      R"({{"name": "{}", "model": "resnet50", "framework": "pytorch-ddp", "batch_per_gpu": {},
          "gpus": {}, "placement": {}, "mode": "train", "steps": 2}})";
  const std::string text =
      R"({"cluster": {"platform": "c4140-k-v100-sxm2"}, "jobs": [)" +
      fmt::format(fmt::runtime(job), "pair", batch, 2, "[[0, 0], [0, 1]]") + ", " +
      fmt::format(fmt::runtime(job), "one", 64, 1, fmt::format("[[0, {}]]", gpu)) + "]}";
  return run_text(text).jobs;
}

} // namespace

TEST_CASE("a job on a GPU leaves the others on it the rest of its memory", "[long]")
{
  const auto apart = beside(2, 150);
  for (const auto& job : apart) {
    CHECK(job.memory.available.value() == 16e9);
    CHECK(job.memory.fits());
  }
  const auto shared = beside(1, 150);
  for (const std::size_t j : {0U, 1U})
    CHECK(shared[j].memory.available == apart[j].memory.available - apart[1 - j].memory.needed);
  CHECK(shared[0].memory.needed == apart[0].memory.needed);
  CHECK(shared[0].memory.needed + shared[1].memory.needed > apart[0].memory.available);
  CHECK(!shared[0].memory.fits());
  CHECK(!shared[1].memory.fits());
  const auto small = beside(1, 32);
  CHECK(small[0].memory.fits());
  CHECK(small[1].memory.fits());
  // None is left beside one that needs more than there is.
  CHECK(beside(0, 4096)[1].memory.available.value() == 0);
}

} // namespace foretrain::shared_gpu_test
