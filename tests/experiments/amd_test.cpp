// AMD's GPUs: what they compute in, which library they exchange with, and what a mesh of links
// carries.
#include "experiments/run/simulate/nccl_tests.hpp"
#include "experiments/spec/gpu_library.hpp"
#include "experiments/spec/kernel_curves.hpp"
#include "tests/experiments/point.hpp"
#include "tests/platforms/hop_support.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::amd_test {

using namespace foretrain::experiments;
using namespace foretrain::test;
using Catch::Contains;
using sim::Precision;

namespace {

platforms::Gpu gpu(const std::string& name)
{
  return read_as<platforms::Gpu>(resolve_preset(name, platforms::kGpuKind));
}

std::string job(const std::string& platform, const std::string& more, int gpus = 8)
{
  return R"({"cluster": {"platform": ")" + platform + R"("}, "jobs": [{"model": "llama-3-8b",
    "framework": "torchtitan", "batch_per_gpu": 1, "gpus": )" +
         std::to_string(gpus) + more + "}]}";
}

double bus_bandwidth(const std::string& platform, const char* program, int nodes, int gpus,
                     double size)
{
  const auto spec = platforms::load_platform(platform);
  NcclTestsOptions options;
  options.nodes = nodes;
  options.gpus_per_node = gpus;
  options.sizes = {size};
  options.library = resolve_preset(std::string(usual_library(spec.gpu)), models::kLibraryKind);
  return run_nccl_test(*find_nccl_test(program), spec, stack_of("rdma"), options)
      .front()
      .bus_bandwidth;
}

} // namespace

TEST_CASE("an all-reduce over a mesh reaches what all of a GPU's links carry", "[amd][closed-form]")
{
  // Links of 64 and 76.8 GB/s each way, of which three quarters are data; n - 1 of them at work.
  for (const int gpus : {2, 4, 5, 8})
    for (const auto& [platform, link] : {std::pair{"mi300x-8", 48e9}, {"mi355x-8", 57.6e9}}) {
      CAPTURE(platform, gpus);
      const double most = (gpus - 1) * link;
      const double reached = bus_bandwidth(platform, "all_reduce_perf", 1, gpus, 8e9);
      CHECK(reached < most);
      CHECK(reached > 0.97 * most);
    }
}

TEST_CASE("between nodes eight adapters or eight links bind", "[amd][closed-form]")
{
  const double adapters = 8 * 50e9;
  const double links = 8 * 48e9; // a ring crosses one link for each GPU but the last
  const double reached = bus_bandwidth("mi300x-8", "all_gather_perf", 2, 8, 16e9);
  CHECK(reached < std::min(adapters, links));
  CHECK(reached > 0.9 * std::min(adapters, links));
}

TEST_CASE("AMD's best products are as its documents have them", "[amd][closed-form]")
{
  struct Row {
    const char* gpu;
    Precision precision;
    double columns, rate; // of the right operand; FLOP/s published
  };
  for (const Row& row : {Row{"mi300x", Precision::fp16, 4864, 654e12},
                         {"mi300x", Precision::bf16, 4864, 708e12},
                         {"mi300x", Precision::fp8, 3648, 1273e12},
                         {"mi325x", Precision::fp16, 4864, 794e12},
                         {"mi325x", Precision::bf16, 4864, 843e12},
                         {"mi325x", Precision::fp8, 3648, 1519e12}}) {
    CAPTURE(row.gpu, word_of(row.precision));
    const platforms::Gpu one = gpu(row.gpu);
    const double peak = precision_rate(one, row.precision)->peak.value();
    const double share = product_curve(one, row.precision).efficiency * sustained_clock(one);
    CHECK(peak * share == Approx(row.rate).epsilon(0.005));
  }
}

TEST_CASE("what AMD's GPUs compute in", "[amd][precision]")
{
  const auto has = [](const char* name, Precision precision) {
    return precision_rate(gpu(name), precision) != nullptr;
  };
  for (const char* name : {"mi300x", "mi325x"}) {
    CAPTURE(name);
    for (const Precision p : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16,
                              Precision::fp8, Precision::int8})
      CHECK(has(name, p));
    for (const Precision p : {Precision::mxfp8, Precision::mxfp4, Precision::nvfp4})
      CHECK_FALSE(has(name, p));
  }
  for (const Precision p : {Precision::fp8, Precision::mxfp8, Precision::mxfp4})
    CHECK(has("mi355x", p));
  CHECK_FALSE(has("mi355x", Precision::nvfp4)); // blocks of 16 are NVIDIA's
  CHECK_FALSE(has("mi355x", Precision::tf32));
  CHECK(on_tensor_cores(gpu("mi300x"), Precision::bf16));
  // Half of the peak's multiplications, which count two at once.
  const platforms::Gpu mi300x = gpu("mi300x");
  CHECK(direct_rate(mi300x, 1).value() == Approx(0.5 * mi300x.fp32->peak.value()));
  // Exponentials: a quarter of what is issued; 16 of 128 on an H100, which counts two FLOP of each.
  CHECK(function_rate(mi300x) == Approx(mi300x.fp32->peak.value() / 16));
  CHECK(function_rate(gpu("h100-sxm5-80gb")) ==
        Approx(gpu("h100-sxm5-80gb").fp32->peak.value() / 16));
  CHECK(function_rate(gpu("v100-sxm2-32gb")) ==
        Approx(gpu("v100-sxm2-32gb").fp32->peak.value() / 8));

  CHECK_THROWS_WITH(run_text(job("mi300x", R"(, "precision": "nvfp4")")),
                    Contains("'nvfp4'") && Contains("MI300X has no rate") && Contains("fp8"));
  CHECK_THROWS_WITH(run_text(job("mi355x", R"(, "precision": "nvfp4")")),
                    Contains("MI355X has no rate") && Contains("mxfp4"));
  const double wide = run_text(job("mi355x", R"(, "precision": "bf16")")).jobs[0].step_time.median;
  const double eight = run_text(job("mi355x", R"(, "precision": "fp8")")).jobs[0].step_time.median;
  const double four = run_text(job("mi355x", R"(, "precision": "mxfp4")")).jobs[0].step_time.median;
  CHECK(eight < wide);
  CHECK(four < wide);
}

TEST_CASE("RCCL stands where a framework says NCCL, and what is another's is refused", "[amd]")
{
  std::string told;
  for (const std::string& warning : run_text(job("mi300x", R"(, "precision": "bf16")")).warnings)
    told += warning + "\n";
  CHECK_THAT(told, Contains("no kernel of the MI300X was measured"));
  CHECK_THAT(told, Contains("collectives are those of RCCL"));
  CHECK_NOTHROW(run_text(job("mi300x", R"(, "precision": "bf16", "library": "rccl")")));
  CHECK_THROWS_WITH(run_text(job("mi300x", R"(, "precision": "bf16", "library": "nccl")")),
                    Contains("runs on GPUs of NVIDIA") && Contains("\"rccl\""));
  CHECK_THROWS_WITH(run_text(job("hgx-h100", R"(, "precision": "bf16", "library": "rccl")")),
                    Contains("runs on GPUs of AMD") && Contains("\"nccl\""));
  CHECK_THROWS_WITH(run_text(job("mi300", "")), Contains("did you mean 'mi300x"));
  CHECK_THROWS_WITH(run_text(R"({"cluster": {"platform": "mi300x"}, "jobs": [{"model": "resnet50",
    "framework": "tensorrt", "mode": "inference", "batch_per_gpu": 8, "precision": "fp16",
    "gpus": 1}]})"),
                    Contains("'TensorRT', which runs on GPUs of NVIDIA"));
}

TEST_CASE("an AMD GPU trains networks of convolutions", "[amd][long]")
{
  const auto rate = [](const std::string& platform) {
    return run_text(R"({"cluster": {"platform": ")" + platform + R"("}, "jobs": [{
      "model": "resnet50", "framework": "pytorch-ddp", "precision": "fp16", "batch_per_gpu": 256,
      "gpus": 8}]})")
        .jobs[0]
        .throughput.median;
  };
  const double mi300x = rate("mi300x-8");
  CHECK(mi300x > 0.5 * rate("hgx-h100"));
  CHECK(rate("mi325x-8") > mi300x);
}

} // namespace foretrain::amd_test
