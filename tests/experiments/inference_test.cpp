// Jobs whose GPUs exchange nothing.
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

namespace foretrain::inference_test {

using namespace foretrain::experiments;

TEST_CASE("GPUs that do not train together do not wait for each other", "[inference][closed-form]")
{
  const auto result = [](int gpus, const char* mode) {
    return test::run_text(fmt::format(R"({{"cluster": {{"platform": "dgx-a100"}},
        "jobs": [{{"model": "resnet50", "framework": "pytorch-ddp", "precision": "fp16",
                   "mode": "{}", "batch_per_gpu": 64, "gpus": {}}}]}})",
                                      mode, gpus))
        .jobs.front();
  };
  const JobResult one = result(1, "inference");
  for (const int gpus : {2, 8, 24}) {
    const JobResult many = result(gpus, "inference");
    CHECK_THAT(many.throughput.median, test::is(gpus * one.throughput.median));
    CHECK(many.latency->high == Approx(one.latency->high));
  }
  // In training they do, and the slowest decides.
  CHECK(result(8, "train").throughput.median < 8 * result(1, "train").throughput.median);
}

} // namespace foretrain::inference_test
