// Operations that a framework writes from others: their kernels one by one, and what a step takes
// for them.
#include "models/training/composed_operations.hpp"

#include "models/training/compute_profile.hpp"
#include "tests/models/network_support.hpp"
#include "tests/support/catch.hpp"

#include <vector>

namespace foretrain::composed_operations_test {

using namespace foretrain::models;

namespace {

// Tensors as long as the result that a kernel reads, and writes; statistics of positions are short.
struct Kernel {
  double reads, writes;
};
using Kernels = std::vector<Kernel>;

constexpr Kernel kOfOne{1, 1}, kOfTwo{2, 1}, kRead{1, 0}, kWritten{0, 1}, kShort{0, 0};

double passes(const Kernels& kernels)
{
  double sum = 0;
  for (const Kernel& kernel : kernels)
    sum += kernel.reads + kernel.writes;
  return sum;
}

void expect_kernels(const char* op, bool fused, const Kernels& forward, const Kernels& backward,
                    Composition of = Composition::tensorflow)
{
  INFO(op << (fused ? ", fused" : ""));
  const auto composed = composed_operation(of, fused, op);
  REQUIRE(composed);
  CHECK(composed->forward == passes(forward));
  CHECK(composed->backward == passes(backward));
  CHECK(composed->forward_kernels == static_cast<int>(forward.size()));
  CHECK(composed->backward_kernels == static_cast<int>(backward.size()));
}

// Memory alone takes time, 1 GB/s, and each kernel's launch.
Device memory(Composition composed, int bytes, Seconds launch = {})
{
  Device device;
  for (sim::Roofline* roofline : {&device.dense, &device.ordinary}) {
    roofline->peak = FlopsPerSecond(1e30);
    roofline->memory = BytesPerSecond(1e9);
  }
  device.ordinary.launch = launch;
  device.bytes_per_element = bytes;
  device.kernels.composed = composed;
  return device;
}

constexpr const char* kWords = R"("features": 1000)";
constexpr const char* kGelu =
    R"({"op": "linear", "out": 1000}, "gelu", {"op": "linear", "out": 1000})";

LayerTime second_of(const char* layers, const Device& device)
{
  return compute_profile(test::network_of(kWords, layers), 1, device).layers.at(1);
}

} // namespace

TEST_CASE("TensorFlow's operations are as many kernels as their formulas have", "[composed]")
{
  // x * 0.5 * (1 + tanh(a * (x + b * x^3)))
  expect_kernels("gelu", false, {kOfOne, kOfOne, kOfTwo, kOfOne, kOfOne, kOfOne, kOfOne, kOfTwo},
                 {kOfTwo, kOfTwo, kOfOne, kOfTwo, kOfOne, kOfOne, kOfOne, kOfOne, kOfTwo, {3, 1}});
  expect_kernels("swish", false, {kOfOne, kOfTwo},
                 {kOfOne, kOfOne, kOfTwo, kOfOne, kOfTwo, kOfTwo});
  // Moments, 1 / deviation (two of one value for each position), and x * s + (shift - mean * s).
  expect_kernels("layer_norm", false,
                 {kRead, kOfOne, kRead, kShort, kShort, kWritten, kOfTwo, kOfOne, kOfOne, kOfTwo},
                 {kRead,                                      // shift
                  kOfOne,                                     // - mean * s
                  kOfTwo, kRead,    kOfOne,                   // its mean, and s
                  kOfTwo, kOfTwo,                             // x * s
                  kOfTwo,                                     // both gradients of s
                  kOfOne, kRead,    kOfOne, kRead,            // of 1 / deviation and of the scale
                  kShort, kWritten, kOfOne,                   // of the variance
                  kOfOne, kOfOne,   kOfTwo, kWritten, kOfOne, // of squares, and of the mean
                  {3, 1}, kShort,   kShort});
  expect_kernels("dropout", false, {kWritten, {1, 0.25}, kOfOne, {0.25, 1}, kOfTwo},
                 {kOfTwo, kOfOne});
  expect_kernels("softmax", false, {kRead, kRead, kOfOne}, {kOfTwo, kRead, kOfOne, kOfTwo});
  expect_kernels("scale_mask", false, {kOfOne, kOfOne}, {kOfOne});
}

TEST_CASE("a compiler ends kernels at sums alone", "[composed]")
{
  expect_kernels("layer_norm", true, {kRead, kRead, kOfOne}, {{2, 0}, {2, 0}, kOfTwo});
  expect_kernels("softmax", true, {kRead, kRead, kOfOne}, {{2, 0}, kOfTwo});
  expect_kernels("dropout", true, {{1, 1}}, {kRead}); // random numbers come from outside
  for (const char* op : {"gelu", "scale_mask", "relu"})
    CHECK(!composed_operation(Composition::tensorflow, true, op));
}

TEST_CASE("other operations, and other frameworks, have kernels of their own", "[composed]")
{
  CHECK(!composed_operation(Composition::tensorflow, false, "relu"));
  CHECK(!composed_operation(Composition::none, false, "gelu"));
  CHECK(!composed_operation(Composition::none, true, "softmax"));
}

TEST_CASE("every framework scales scores, and then masks them", "[composed]")
{
  for (const Composition of : {Composition::none, Composition::tensorflow}) {
    expect_kernels("scale_mask", false, {kOfOne, kOfOne}, {kOfOne}, of);
    expect_kernels("scale_scores", false, {kOfOne}, {kOfOne}, of);
    CHECK(!composed_operation(of, true, "scale_mask"));
  }
}

TEST_CASE("a composed operation takes what its kernels move, and a launch for each",
          "[composed][closed-form]")
{
  const LayerTime time = second_of(kGelu, memory(Composition::tensorflow, 4, Seconds(1e-6)));
  CHECK_THAT(time.forward.value(), test::is(18 * 4000 / 1e9 + 8 * 1e-6));
  CHECK_THAT(time.backward.value(), test::is(26 * 4000 / 1e9 + 10 * 1e-6));
  CHECK(time.backward_kernels == 10);
  const LayerTime own = second_of(kGelu, memory(Composition::none, 4));
  CHECK_THAT(own.forward.value(), test::is(2 * 4000 / 1e9));
}

TEST_CASE("the host launches each kernel of a composed operation", "[composed][closed-form]")
{
  Device device = memory(Composition::tensorflow, 4);
  device.launches = HostLaunches{.per_kernel = Seconds(1e-5)};
  const LayerTime time = second_of(kGelu, device);
  CHECK_THAT(time.forward_host.value(), test::is(8e-5));
  CHECK_THAT(time.backward_host.value(), test::is(10e-5));
}

TEST_CASE("a compiler's chain reads random numbers that were written before", "[composed]")
{
  Device device = memory(Composition::tensorflow, 4);
  device.fused_elementwise = true;
  const auto profile = compute_profile(
      test::network_of(kWords, R"({"op": "linear", "out": 1000}, "dropout", "layer_norm")"), 1,
      device);
  CHECK_THAT(profile.layers.at(1).forward.value(), test::is(2 * 4000 / 1e9));
  CHECK_THAT(profile.layers.at(1).backward.value(), test::is(4000 / 1e9));
}

// Two bytes are read and four written before it; so are its own, and the next product's operand.
TEST_CASE("in half precision powers and means compute in single", "[composed][closed-form]")
{
  const LayerTime gelu = second_of(kGelu, memory(Composition::tensorflow, 2));
  CHECK_THAT(gelu.forward.value(), test::is((18 * 4000 + 6000) / 1e9));
  const LayerTime softmax =
      second_of(R"({"op": "linear", "out": 1000}, "softmax")", memory(Composition::tensorflow, 2));
  CHECK_THAT(softmax.forward.value(), test::is(4 * 2000 / 1e9));
  Device compiled = memory(Composition::tensorflow, 2);
  compiled.fused_elementwise = true;
  const LayerTime norm = second_of(R"({"op": "linear", "out": 1000}, "layer_norm")", compiled);
  CHECK_THAT(norm.forward.value(), test::is(4 * 4000 / 1e9)); // conversions ride along
}

} // namespace foretrain::composed_operations_test
