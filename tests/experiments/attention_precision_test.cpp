// Attention in the precisions that tensor cores take, and in those that they do not.
#include "experiments/spec/kernel_curves.hpp"
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::attention_precision_test {

using namespace foretrain::experiments;
using sim::Precision;

namespace {

platforms::Gpu gpu(const char* name)
{
  return read_as<platforms::Gpu>(resolve_preset(std::string(name), platforms::kGpuKind));
}

JobResult long_sequence(const char* platform, const char* precision)
{
  return test::run_text(
             R"({"cluster": {"platform": ")" + std::string(platform) +
             R"("}, "jobs": [{"model": "llama-3-8b", "framework": "nemo", "precision": ")" +
             precision +
             R"(", "gpus": 1, "sequence": 65536, "global_batch": 1, "micro_batch": 1}]})")
      .jobs.front();
}

} // namespace

TEST_CASE("attention is as fast as its precision, narrow ones as 16 bits", "[attention]")
{
  const auto a100 = gpu("a100-sxm4-80gb"), h100 = gpu("h100-sxm5-80gb");
  const auto peak = [](const platforms::Gpu& of, Precision precision) {
    return attention_curve(of, precision, true).peak;
  };
  CHECK(peak(a100, Precision::fp32) == 19.5e12);
  CHECK(peak(a100, Precision::tf32) == 156e12);
  CHECK(peak(a100, Precision::bf16) == 312e12);
  CHECK(peak(h100, Precision::fp8) == peak(h100, Precision::bf16));
}

TEST_CASE("no precision does more than its peak", "[attention]")
{
  for (const char* platform : {"dgx-a100-80gb", "dgx-h100", "c4140-v100-sxm2"})
    for (const char* precision : {"fp32", "fp16"}) {
      const JobResult job = long_sequence(platform, precision);
      CHECK(job.mfu->share.causal < 1);
    }
}

} // namespace foretrain::attention_precision_test
