// What the kernels of a step take, where one thing alone limits them.
#include "models/compute_profile.hpp"

#include "tests/support/catch.hpp"

using namespace foretrain;
using namespace foretrain::models;

namespace {

Network two_linear_layers(std::int64_t width)
{
  Network network;
  network.layers.assign(2, linear_layer(Shape::vector(width), width, false, false));
  return network;
}

// Arithmetic is all that takes time.
Device arithmetic(double peak)
{
  Device device;
  for (sim::Roofline* roofline : {&device.dense, &device.ordinary}) {
    roofline->peak = FlopsPerSecond(peak);
    roofline->memory = BytesPerSecond(1e30);
  }
  return device;
}

} // namespace

TEST_CASE("backward makes two products of a layer, one of the first", "[profile][closed-form]")
{
  const double product = 2 * 64 * 1000.0 * 1000.0 / 1e12;
  const auto profile = compute_profile(two_linear_layers(1000), 64, arithmetic(1e12));
  CHECK_THAT(profile.layers[0].forward.value(), test::is(product));
  CHECK_THAT(profile.layers[1].forward.value(), test::is(product));
  CHECK_THAT(profile.layers[0].backward.value(), test::is(product)); // needs no input gradient
  CHECK_THAT(profile.layers[1].backward.value(), test::is(2 * product));
}

TEST_CASE("products wait for the lines of a weight that the cache does not hold",
          "[profile][closed-form]")
{
  Device device = arithmetic(1e30);
  device.kernels.weight_line = Seconds(1e-6);
  const double weights = 1000.0 * 1000 * 4;  // bytes of a layer; those of both, their gradients and
  device.dense.cache = Bytes(weights * 1.5); // momenta are six times as many: a quarter is found
  device.dense.cached = BytesPerSecond(1e30);
  const auto profile = compute_profile(two_linear_layers(1000), 64, device);
  const double read = 0.75 * weights / 64 * 1e-6;
  CHECK_THAT(profile.layers[0].forward.value(), test::is(read));
  CHECK(profile.layers[0].backward.value() < 1e-9); // its gradient is written, not read
  CHECK_THAT(profile.layers[1].backward.value(), test::is(read));
}

TEST_CASE("training holds weights, gradients, optimizer state and what layers put out",
          "[profile][closed-form]")
{
  Device device;
  device.optimizer.state_bytes_per_parameter = 12;
  device.bytes_per_element = 2;
  const double parameters = 2 * 1000.0 * 1000.0;
  const double outputs = 2 * 1000.0 * 64;
  CHECK_THAT(training_memory(two_linear_layers(1000), 64, device).value(),
             test::is(parameters * (4 + 4 + 12) + outputs * 2));
  device.master_weights = true; // and the weights that kernels read
  CHECK_THAT(training_memory(two_linear_layers(1000), 64, device).value(),
             test::is(parameters * (4 + 4 + 12 + 2) + outputs * 2));
}
