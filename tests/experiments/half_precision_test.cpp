// What kernels compute in where data are in half precision.
#include "experiments/spec/kernel_curves.hpp"

#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

using namespace foretrain;
using namespace foretrain::experiments;
using namespace foretrain::test;
using sim::Precision;

namespace {

platforms::Gpu gpu(const std::string& name)
{
  return read_as<platforms::Gpu>(resolve_preset(name, platforms::kGpuKind));
}

// Samples per second of VGG16, whose kernels are long: launches do not count.
double rate(const std::string& precision, const std::string& more)
{
  const std::string text = R"({"cluster": {"platform": "c4130-p100-pcie"},
    "jobs": [{"model": "vgg16", "framework": "tensorflow-horovod", "batch_per_gpu": 64, )" +
                           more + R"( "precision": ")" + precision + R"(", "gpus": 1}]})";
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

TEST_CASE("half precision without tensor cores gains what memory gains, at most", "[precision]")
{
  const double training = rate("fp16", "") / rate("fp32", "");
  CHECK(training > 1.0);  // half of the bytes
  CHECK(training < 1.35); // the peak of half precision would give 1.8
  const std::string engine = R"("mode": "inference",)";
  CHECK(rate("fp16", engine) / rate("fp32", engine) > 1.7);
}
