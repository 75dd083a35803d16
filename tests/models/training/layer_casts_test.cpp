// Conversions between layers in half precision, and what computes in single.
#include "models/training/autocast.hpp"
#include "models/training/compute_profile.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::layer_casts_test {

using namespace foretrain::models;
using sim::Precision;

namespace {

// Memory is all that takes time: a byte a nanosecond.
Device moving_halves()
{
  Device device;
  for (sim::Roofline* roofline : {&device.dense, &device.ordinary}) {
    roofline->peak = FlopsPerSecond(1e30);
    roofline->memory = BytesPerSecond(1e9);
  }
  device.bytes_per_element = 2;
  return device;
}

} // namespace

TEST_CASE("softmax of fp16 takes halves and gives single precision, that of bf16 is cast before",
          "[profile][closed-form]")
{
  CHECK(autocast_of(true, Precision::fp16) == Autocast::fp16);
  CHECK(autocast_of(true, Precision::bf16) == Autocast::bf16);
  for (const Precision other : {Precision::fp32, Precision::tf32, Precision::fp8, Precision::int8})
    CHECK(autocast_of(true, other) == Autocast::none);
  CHECK(autocast_of(false, Precision::fp16) == Autocast::none);
  const SingleBytes softmax = in_single(Autocast::fp16, "softmax");
  CHECK(softmax.converted == 0);
  CHECK((softmax.in == 2 && softmax.out == 4));
  for (const SingleBytes& cast :
       {in_single(Autocast::bf16, "softmax"), in_single(Autocast::none, "softmax"),
        in_single(Autocast::fp16, "layer_norm")}) {
    CHECK(cast.converted == 2 + 4);
    CHECK((cast.in == 4 && cast.out == 4));
  }
}

TEST_CASE("autocast computes softmax in single precision up to the next product",
          "[profile][closed-form]")
{
  const bool fp16 = GENERATE(true, false); // which softmax takes without a conversion
  Device device = moving_halves();
  Network network;
  const Shape shape = Shape::sequence(64, 1000);
  network.layers = {activation_layer(shape, "softmax"), activation_layer(shape, "dropout"),
                    linear_layer(shape, 10, false, true), activation_layer(shape, "tanh"),
                    activation_layer(shape, "softmax")};
  for (Layer& layer : network.layers)
    layer.op = layer.kind == LayerKind::linear ? "linear" : "softmax";
  network.layers[1].op = "dropout";
  network.layers[3].op = "tanh";
  const auto half = compute_profile(network, 8, device);
  device.autocast = fp16 ? Autocast::fp16 : Autocast::bf16;
  const auto cast = compute_profile(network, 8, device);
  const double pass = 8 * 64 * 1000.0 * 2 / 1e9; // of half precision
  const auto more = [&](std::size_t layer) {
    return std::pair{(cast.layers[layer].forward - half.layers[layer].forward).value() / pass,
                     (cast.layers[layer].backward - half.layers[layer].backward).value() / pass};
  };
  const double apart = fp16 ? 0 : 3 + 1; // converted and then read twice as wide, or half as it is
  CHECK(more(0).first == Approx(apart + 1));
  CHECK(more(0).second == Approx(apart + 2));
  CHECK(more(1).first == Approx(2)); // wide already
  CHECK(more(1).second == Approx(3));
  CHECK(more(2).first == Approx(3)); // converted back
  CHECK(more(2).second == Approx(3));
  CHECK(more(3).first == Approx(0));
  CHECK(more(4).first == Approx(apart + 1));
  device.bytes_per_element = 4;
  const auto single = compute_profile(network, 8, device);
  device.autocast = Autocast::none;
  CHECK(single.total() == compute_profile(network, 8, device).total());
}

TEST_CASE("the loss of a half-precision network is in single precision, whoever computes it",
          "[profile][closed-form]")
{
  Device device = moving_halves();
  const Shape logits = Shape::sequence(64, 1000);
  Network network;
  network.layers = {linear_layer(Shape::sequence(64, 10), 1000, false, true),
                    activation_layer(logits, "softmax")};
  network.layers[0].op = "linear";
  network.layers[1].op = "softmax";
  const double elements = 8 * 64 * 1000.0 / 1e9;
  // Converted unless the kernel takes halves; the gradient reads what came and the result.
  const auto loss = [&] {
    const LayerTime time = compute_profile(network, 8, device).layers[1];
    return std::pair{time.forward.value() / elements, time.backward.value() / elements};
  };
  for (const Autocast one : {Autocast::none, Autocast::bf16}) {
    device.autocast = one;
    CHECK(loss().first == Approx(6 + 4 + 4));
    CHECK(loss().second == Approx(4 + 4 + 4 + 6));
  }
  device.autocast = Autocast::fp16;
  CHECK(loss().first == Approx(2 + 4));
  CHECK(loss().second == Approx(4 + 4 + 2));
  device.autocast = Autocast::none;
  network.layers[1].half_loss = true; // the model's own
  CHECK(loss().first == Approx(2 + 2));
  network.layers[1].half_loss = false;
  network.layers[0].kind = LayerKind::copy; // scores of attention stay as they are
  CHECK(loss().first == Approx(2 + 2));
}

} // namespace foretrain::layer_casts_test
