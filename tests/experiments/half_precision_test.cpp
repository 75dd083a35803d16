// What kernels compute in where data are in half precision.
#include "experiments/spec/kernel_curves.hpp"

#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::half_precision_test {

using namespace foretrain::experiments;
using namespace foretrain::test;
using sim::Precision;

namespace {

platforms::Gpu gpu(const std::string& name)
{
  return read_as<platforms::Gpu>(resolve_preset(name, platforms::kGpuKind));
}

// Samples per second of VGG16, whose kernels are long: launches do not count.
double rate(const std::string& precision, const std::string& more, const char* model = "vgg16")
{
  const std::string text = R"({"cluster": {"platform": "c4130-p100-pcie"},
    "jobs": [{"model": ")" +
                           std::string(model) +
                           R"(", "framework": "tensorflow-horovod", "batch_per_gpu": 64, )" + more +
                           R"( "precision": ")" + precision + R"(", "gpus": 1}]})";
  return run_text(text).jobs[0].throughput.median;
}

} // namespace

TEST_CASE("training without tensor cores stores halves and computes in single precision",
          "[precision]")
{
  CHECK(arithmetic_of(gpu("p100-sxm2-16gb"), Precision::fp16, true) == Precision::fp32);
  CHECK(arithmetic_of(gpu("p100-sxm2-16gb"), Precision::fp16, false) == Precision::fp16);
  CHECK(arithmetic_of(gpu("v100-sxm2-16gb"), Precision::fp16, true) == Precision::fp16);
  CHECK(arithmetic_of(gpu("p100-sxm2-16gb"), Precision::fp32, true) == Precision::fp32);
  CHECK(arithmetic_of(gpu("a100-sxm4-40gb"), Precision::tf32, true) == Precision::tf32);
}

TEST_CASE("products in single precision and TF32 are those of layers, at the clock of long runs",
          "[precision][closed-form]")
{
  const sim::Product product{4096, 1024, 4096, 4, 4, 1};
  for (const char* name : {"v100-sxm2-16gb", "p100-sxm2-16gb", "a100-sxm4-40gb", "mi300x"})
    for (const Precision precision : {Precision::fp32, Precision::tf32}) {
      const platforms::Gpu one = gpu(name);
      const platforms::PrecisionRate* const rate = precision_rate(one, precision);
      if (rate == nullptr)
        continue;
      CHECK(!has_product_kernels(one, precision));
      const double layers = layer_curve(one, precision, rate->dense_efficiency).arithmetic(product);
      const sim::ProductCurve curve = product_curve(one, precision);
      CHECK_THAT(curve.arithmetic(product, sustained_clock(one)), test::is(layers));
      CHECK(curve.memory == one.memory_bandwidth.value());
    }
  CHECK(has_product_kernels(gpu("v100-sxm2-16gb"), Precision::fp16));
  CHECK(!has_product_kernels(gpu("p100-sxm2-16gb"), Precision::fp16));
  CHECK(has_product_kernels(gpu("b200-sxm-180gb"), Precision::nvfp4));
  CHECK(!has_product_kernels(gpu("a100-sxm4-40gb"), Precision::int8)); // as convolutions
}

TEST_CASE("half precision without tensor cores gains what memory gains, at most", "[precision]")
{
  const double training = rate("fp16", "") / rate("fp32", "");
  CHECK(training > 1.0);  // half of the bytes
  CHECK(training < 1.35); // the peak of half precision would give 1.8
  const double transformer = rate("fp16", "", "bert-base-512") / rate("fp32", "", "bert-base-512");
  CHECK(transformer > 1.0);
  CHECK(transformer < 1.35);
  const std::string engine = R"("mode": "inference",)";
  CHECK(rate("fp16", engine) / rate("fp32", engine) > 1.7);
}

TEST_CASE("products in fp4 are those in fp8 at their own peak", "[precision][closed-form]")
{
  const platforms::Gpu b200 = gpu("b200-sxm-180gb");
  const sim::ProductCurve eight = product_curve(b200, Precision::fp8);
  const sim::ProductCurve four = product_curve(b200, Precision::nvfp4);
  CHECK(four.peak == 2 * eight.peak);
  CHECK(four.efficiency == eight.efficiency);
  CHECK(four.fill == 2 * eight.fill); // terms of a sum, which pass twice as fast
  CHECK(product_curve(b200, Precision::mxfp8).fill == eight.fill);
  // Long sums reach twice the rate.
  const sim::Product long_sum{16384, 16384, 1e6, 1, 2, 1};
  CHECK(eight.arithmetic(long_sum) / four.arithmetic(long_sum) == Approx(2).epsilon(1e-3));
  CHECK(precision_rate(gpu("h100-sxm5-80gb"), Precision::nvfp4) == nullptr);
  CHECK(precision_rate(gpu("gb300-288gb"), Precision::mxfp4)->peak == FlopsPerSecond(15e15));
  // Without a rate in fp8 its table says nothing of fp4: a data sheet's usual kernels do.
  platforms::Gpu four_alone = b200;
  four_alone.fp8.reset();
  platforms::Gpu unmeasured = four_alone;
  unmeasured.kernels->fp8.reset();
  CHECK(product_curve(four_alone, Precision::nvfp4).fill ==
        product_curve(unmeasured, Precision::nvfp4).fill);
}

TEST_CASE("a GPU without fp4 names what it has, one with it says that nothing was measured",
          "[precision][long]")
{
  const auto job = [](const std::string& platform) {
    return R"({"cluster": {"platform": ")" + platform + R"("}, "jobs": [{"model": "llama-3-8b",
      "framework": "nemo", "precision": "nvfp4", "gpus": 8, "batch_per_gpu": 1}]})";
  };
  CHECK_THROWS_WITH(run_text(job("hgx-h100")),
                    Catch::Contains("nvfp4") && Catch::Contains("fp8") && Catch::Contains("H100"));
  std::string told;
  for (const std::string& warning : run_text(job("hgx-b200")).warnings)
    told += warning;
  CHECK_THAT(told, Catch::Contains("no product in nvfp4") && Catch::Contains("those in fp8"));
}

} // namespace foretrain::half_precision_test
