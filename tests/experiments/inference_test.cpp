// Jobs whose GPUs exchange nothing.
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

namespace foretrain::inference_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

TEST_CASE("GPUs that do not train together do not wait for each other",
          "[inference][closed-form][long]")
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

TEST_CASE("keys about training that a job of inference has are named", "[inference]")
{
  const auto told = [](const char* mode) {
    std::string all;
    for (const std::string& warning :
         test::run_text(fmt::format(R"({{"cluster": {{"platform": "dgx-a100"}},
        "jobs": [{{"name": "j", "model": "resnet50", "framework": "pytorch-ddp", "optimizer": "adam",
                   "library": "nccl-2.18", "mode": "{}", "batch_per_gpu": 64}}]}})",
                                    mode))
             .warnings)
      all += warning + "\n";
    return all;
  };
  CHECK_THAT(told("inference"),
             Contains(R"(j: "library", "optimizer" have no influence on inference)"));
  CHECK_THAT(told("train"), !Contains("no influence on inference"));
}

} // namespace foretrain::inference_test
