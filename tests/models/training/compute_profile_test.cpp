// What the kernels of a step take, where one thing alone limits them.
#include "models/training/compute_profile.hpp"

#include "tests/models/network_support.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::compute_profile_test {

using namespace foretrain::models;

namespace {

Network two_linear_layers(std::int64_t width)
{
  Network network;
  network.layers.assign(2, linear_layer(Shape::vector(width), width, false, false));
  network.layers.front().input_gradient = false;
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

TEST_CASE("what has nothing to train, in it or before it, has no backward pass", "[profile]")
{
  Network network = two_linear_layers(1000);
  for (Layer layer : {activation_layer(Shape::vector(1000), "relu"),
                      batch_norm_layer(Shape::vector(1000), true)}) {
    layer.input_gradient = false;
    network.layers.insert(network.layers.begin(), layer);
  }
  const auto profile = compute_profile(network, 64, arithmetic(1e12)); // norm, activation, products
  CHECK(profile.layers[0].backward.value() > 0);                       // of its vectors
  CHECK(profile.layers[1].forward.value() > 0);
  CHECK(profile.layers[1].backward.value() == 0);
  CHECK(profile.layers[1].backward_kernels == 0);
  CHECK(profile.layers[2].backward.value() > 0);
}

TEST_CASE("frozen layers run forward alone, and the first trained one hands on no gradient",
          "[profile][closed-form]")
{
  const double product = 2 * 64 * 1000.0 * 1000.0 / 1e12;
  Network network = two_linear_layers(1000);
  network.layers.push_back(network.layers.back());
  network.layers.front() = frozen_layer(network.layers.front());
  network.layers[1].input_gradient = false;
  Device device = arithmetic(1e12);
  device.operation_gap = Seconds(1e-6);
  const auto profile = compute_profile(network, 64, device);
  CHECK_THAT(profile.layers[0].forward.value(), test::is(product + 1e-6));
  CHECK(profile.layers[0].backward.value() == 0);
  CHECK(profile.layers[0].backward_kernels == 0);
  CHECK_THAT(profile.layers[1].backward.value(), test::is(product + 1e-6));
  CHECK_THAT(profile.layers[2].backward.value(), test::is(2 * product + 1e-6));
  // Its output is not kept: two activations, and the state of two layers' parameters.
  const double state = 2e6 * (2 * 4 + device.optimizer.state_bytes_per_parameter);
  CHECK_THAT(training_memory(network, 64, device).value(), test::is(state + 2.0 * 64 * 1000 * 4));
}

TEST_CASE("a layer of a transformer keeps 34 s b h + 5 a s^2 b bytes", "[profile][closed-form]")
{
  // Korthikanti et al., arXiv:2205.05198, equation 1; here without its state.
  const auto kept = [](int layers, int batch) {
    const Network network = test::network_of(
        R"("tokens": 512)",
        R"({"op": "embedding", "vocab": 100, "hidden": 64}, {"op": "repeat", "name": "e", "times": )" +
            std::to_string(layers) + R"(, "body": [
        {"op": "residual", "main": [{"op": "attention", "heads": 4, "dropout": true}, "dropout"],
         "then": ["layer_norm"]},
        {"op": "residual", "then": ["layer_norm"], "main": [
          {"op": "linear", "out": 256, "then": ["gelu"]},
          {"op": "linear", "out": 64, "then": ["dropout"]}]}]})");
    Device device;
    device.bytes_per_element = 2;
    return training_memory(network, batch, device).value() -
           training_memory(network, 0, device).value();
  };
  const double s = 512, b = 3, h = 64, a = 4;
  CHECK_THAT(kept(3, 3) - kept(2, 3), test::is(34 * s * b * h + 5 * a * s * s * b));
}

TEST_CASE("borrowed weights are read as a layer's own", "[profile][closed-form]")
{
  Network network = two_linear_layers(1000);
  network.layers[1] = borrowed(network.layers[1]);
  Device device = arithmetic(1e30);
  device.dense.memory = BytesPerSecond(1e9);
  const auto profile = compute_profile(network, 1, device);
  const double moved = (1000.0 + 1000 * 1000 + 1000) * 4;
  CHECK_THAT(profile.layers[0].forward.value(), test::is(moved / 1e9));
  CHECK_THAT(profile.layers[1].forward.value(), test::is(moved / 1e9));
  CHECK_THAT(profile.layers[1].backward.value(), test::is(2 * moved / 1e9));
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

TEST_CASE("gradients that are added up pass the cache between two uses of a weight",
          "[profile][closed-form]")
{
  // Two ranks send and receive each gradient once, read and written every time.
  const double weights = 1000.0 * 1000 * 4; // bytes of a layer
  const double passing = 4 * 2 * weights;
  Device device = arithmetic(1e30);
  device.kernels.weight_line = Seconds(1e-6);
  device.optimizer.fused.bytes_per_parameter = 20;
  for (sim::Roofline* roofline : {&device.dense, &device.ordinary}) {
    roofline->cache = Bytes(6 * weights); // what one rank alone uses
    roofline->cached = BytesPerSecond(1e30);
  }
  const Network network = two_linear_layers(1000);
  CHECK(compute_profile(network, 64, device).layers[0].forward.value() < 1e-9);
  device.ranks = 2;
  const double away = passing / (6 * weights + passing);
  CHECK_THAT(compute_profile(network, 64, device).layers[0].forward.value(),
             test::is(away * weights / 64 * 1e-6));
  CHECK(inference_profile(network, 64, device).layers[0].forward.value() < 1e-9);

  device.ordinary.memory = BytesPerSecond(1e9);
  const double update = 10 * weights; // moves, and uses in turn
  CHECK_THAT(compute_profile(network, 64, device).optimizer.value(),
             test::is((1 - 6 * weights / (update + passing)) * update / 1e9));
  device.ranks = 4; // send and receive half as much again
  CHECK_THAT(compute_profile(network, 64, device).optimizer.value(),
             test::is((1 - 6 * weights / (update + 1.5 * passing)) * update / 1e9));
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

namespace {

// Two convolutions of 3 x 3, the second one with a stride.
Network two_convolutions(int stride)
{
  const Window same{{3, 3}, {1, 1}, false, {1, 1}};
  const Window second{{3, 3}, {stride, stride}, false, {1, 1}};
  Network network;
  network.layers.push_back(conv_layer(Shape::image(64, 64, 64), same, 64, 1, false));
  network.layers.back().input_gradient = false;
  network.layers.push_back(conv_layer(Shape::image(64, 64, 64), second, 128, 1, false));
  return network;
}

Device tiled()
{
  Device device = arithmetic(1e30);
  device.minimal_filtering = false;
  sim::ProductCurve curve;
  curve.peak = 1e12;
  curve.efficiency = 0.5;
  curve.fill = 50;
  curve.processors = 10;
  device.tiles = curve;
  return device;
}

} // namespace

TEST_CASE("each product of a layer takes what tiles of its own shape take",
          "[profile][closed-form]")
{
  const Device device = tiled();
  const auto profile = compute_profile(two_convolutions(2), 8, device);
  const double outputs = 8 * 32 * 32, inputs = 8 * 64 * 64;
  const auto time = [&](double m, double n, double k) {
    return device.tiles->arithmetic({m, n, k});
  };
  CHECK_THAT(profile.layers[1].forward.value(), test::is(time(outputs, 128, 64 * 9)));
  CHECK_THAT(profile.layers[1].backward.value(),
             test::is(time(64 * 9, 128, outputs) + time(inputs, 64, 128 * 9 / 4.0)));
  CHECK_THAT(profile.layers[0].backward.value(), test::is(time(64 * 9, 64, inputs)));
}

TEST_CASE("minimal filtering is 16 products over a quarter of the positions, where that is quicker",
          "[profile][closed-form]")
{
  Device device = tiled();
  const auto time = [&](double m, double n, double k) {
    return std::min(device.tiles->arithmetic({m, n, k}),
                    device.tiles->arithmetic({m / 4, n, k / 9, 2, 2, 16}));
  };
  device.minimal_filtering = true;
  const double positions = 8 * 64 * 64;
  const auto profile = compute_profile(two_convolutions(1), 8, device);
  CHECK_THAT(profile.layers[1].forward.value(), test::is(time(positions, 128, 64 * 9)));
  const double weights = std::min(device.tiles->arithmetic({64 * 9, 128, positions}),
                                  device.tiles->arithmetic({64, 128, positions / 4, 2, 2, 16}));
  CHECK_THAT(profile.layers[1].backward.value(), test::is(weights + time(positions, 64, 128 * 9)));
  device.tiles->fill = 100000; // more products pay it more often
  const auto slow = compute_profile(two_convolutions(1), 8, device);
  CHECK_THAT(slow.layers[1].forward.value(),
             test::is(device.tiles->arithmetic({positions, 128, 64 * 9})));
}

namespace {

// One convolution of 3 x 3 in groups behind another layer, so that both gradients are needed.
Network grouped_convolution(std::int64_t groups)
{
  const Window same{{3, 3}, {1, 1}, false, {1, 1}};
  Network network;
  for (const std::int64_t g : {std::int64_t{1}, groups})
    network.layers.push_back(conv_layer(Shape::image(256, 32, 32), same, 256, g, false));
  return network;
}

} // namespace

TEST_CASE("groups of a convolution share tiles, as blocks of a wider product",
          "[profile][closed-form]")
{
  const Device device = tiled();
  const double positions = 8 * 32 * 32;
  const auto quickest = [&](auto shape) {
    double best = 1e30;
    for (const double together : {1, 2, 4, 8, 16, 32})
      best = std::min(best, device.tiles->arithmetic(shape(together)));
    return best;
  };
  const auto profile = compute_profile(grouped_convolution(32), 8, device);
  CHECK_THAT(profile.layers[1].forward.value(), test::is(quickest([&](double together) {
               return sim::Product{positions, 8 * together, 8 * 9 * together, 2, 2, 32 / together};
             })));
  const double weights = quickest([&](double together) {
    return sim::Product{8 * 9 * together, 8 * together, positions, 2, 2, 32 / together};
  });
  CHECK_THAT(profile.layers[1].backward.value(),
             test::is(weights + profile.layers[1].forward.value()));
}

TEST_CASE("more groups of a convolution never take longer", "[profile]")
{
  Device device = tiled();
  device.direct = FlopsPerSecond(GENERATE(0.0, 1e9, 1e11));
  device.minimal_filtering = GENERATE(false, true); // of groups as of all
  double before = 1e30;
  for (const std::int64_t groups : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    const auto profile = compute_profile(grouped_convolution(groups), 8, device);
    const double now = (profile.layers[1].forward + profile.layers[1].backward).value();
    CAPTURE(groups);
    CHECK(now <= before * (1 + 1e-12));
    before = now;
  }
}

TEST_CASE("a depthwise convolution runs at the rate of kernels without tiles, or at the memory's",
          "[profile][closed-form]")
{
  Device device = tiled();
  device.direct = FlopsPerSecond(1e11);
  const Network network = grouped_convolution(256);
  const double work = 2 * network.layers[1].macs * 8;
  auto profile = compute_profile(network, 8, device);
  CHECK_THAT(profile.layers[1].forward.value(), test::is(work / 1e11));
  CHECK_THAT(profile.layers[1].backward.value(), test::is(2 * work / 1e11));

  device.dense.memory = BytesPerSecond(1e9);
  device.tensor_cores = true; // such kernels take channels first as they are
  device.kernels.tensor_core_layout = 2;
  profile = compute_profile(network, 8, device);
  const double image = 8 * 256 * 32 * 32.0, weights = 256 * 9;
  CHECK_THAT(profile.layers[1].forward.value(), test::is((2 * image + weights) * 4 / 1e9));
}

TEST_CASE("a faster GPU has no slower groups where its tiles want another layout", "[profile]")
{
  Device device = tiled();
  device.direct = FlopsPerSecond(1e11);
  device.dense.memory = BytesPerSecond(1e9);
  device.tensor_cores = true;
  device.kernels.tensor_core_layout = 2;
  double before = 1e30;
  for (const double peak : {1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16}) {
    CAPTURE(peak);
    device.tiles->peak = peak;
    const auto profile = compute_profile(grouped_convolution(128), 8, device);
    const double now = (profile.layers[1].forward + profile.layers[1].backward).value();
    CHECK(now <= before * (1 + 1e-12));
    before = now;
  }
}

TEST_CASE("statistics of a batch take a second pass over memory, those of a position none",
          "[profile][closed-form]")
{
  Device device = arithmetic(1e30);
  device.ordinary.memory = BytesPerSecond(1e9);
  Network network;
  const Shape shape = Shape::sequence(64, 1000);
  network.layers = {batch_norm_layer(shape, true), layer_norm_layer(shape)};
  const auto profile = compute_profile(network, 8, device);
  const double elements = 8 * 64 * 1000.0, weights = 2 * 1000;
  const auto passes = [&](double count) { return (count * elements + weights) * 4 / 1e9; };
  CHECK_THAT(profile.layers[0].forward.value(), test::is(passes(3)));
  CHECK_THAT(profile.layers[0].backward.value(), test::is(passes(5)));
  CHECK_THAT(profile.layers[1].forward.value(), test::is(passes(2)));
  CHECK_THAT(profile.layers[1].backward.value(), test::is(passes(5)));
}

TEST_CASE("a normalisation that convolutions do on their way has no kernel forward",
          "[profile][closed-form]")
{
  Device device = arithmetic(1e30);
  device.ordinary.memory = BytesPerSecond(1e9);
  device.ordinary.launch = 5.0_us;
  const Network network = test::network_of(
      R"("channels": 8, "height": 16, "width": 16)",
      R"({"op": "conv", "out": 8, "kernel": 1}, "batch_norm", {"op": "conv", "out": 8, "kernel": 1})");
  const double elements = 4 * 8 * 16 * 16.0, weights = 2 * 8;
  const auto norm = [&](BatchNorm batch_norm) {
    device.kernels.batch_norm = batch_norm;
    return compute_profile(network, 4, device).layers.at(1);
  };
  CHECK_THAT(norm(BatchNorm::alone).forward.value(),
             test::is(5e-6 + (3 * elements + weights) * 4 / 1e9));
  CHECK_THAT(norm(BatchNorm::sums_in_convolution).forward.value(),
             test::is(5e-6 + (2 * elements + weights) * 4 / 1e9));
  CHECK(norm(BatchNorm::in_convolutions).forward == Seconds(0));
  CHECK_THAT(norm(BatchNorm::in_convolutions).backward.value(),
             test::is(5e-6 + (5 * elements + weights) * 4 / 1e9));
}

// Two tables of rows of 8, 6 and 2 lookups: the fuller place has 6 of a sample's 8.
TEST_CASE("by a plan the fullest place sets the pace of tables", "[profile][tables][closed-form]")
{
  Device device = arithmetic(1e30);
  device.ordinary.memory = device.dense.memory = BytesPerSecond(1e9);
  device.bytes_per_element = 2;
  device.tables = TablePlacement{.shard_cost = 5, .shard_cost_between = 5};
  device.ranks = 2;
  const Network network =
      test::network_of(R"("features": 8)",
                       R"({"op": "tables", "hidden": 8, "rows": [100, 100], "lookups": [6, 2]})");
  const auto forward = [&] {
    return compute_profile(network, 10, device).layers.at(0).forward.value();
  };
  // A GPU of one node: for 20 samples 6 rows and a sum each.
  CHECK_THAT(forward(), test::is((20 * 6 * 8.0 * 4 + 20 * 8.0 * 2) / 1e9));
  // One of four of a node: for 80 samples a quarter of 6 rows and a sum each; of a quarter of them
  // four sums are read and one is written.
  device.ranks = 8;
  device.nodes = 2;
  CHECK_THAT(forward(), test::is((80 * 1.5 * 8.0 * 4 + 80 * 8.0 * 2 + (80 + 20) * 8.0 * 2) / 1e9));
  // On every GPU: of its own samples alone.
  device.tables->replicated_below_between = Bytes(1e6);
  CHECK_THAT(forward(), test::is((10 * 8 * 8.0 * 4 + 2 * 10 * 8.0 * 2) / 1e9));
}

TEST_CASE("rows of tables are single precision, and their update reads and writes state",
          "[profile][tables][closed-form]")
{
  Device device = arithmetic(1e30);
  device.ordinary.memory = device.dense.memory = BytesPerSecond(1e9);
  device.bytes_per_element = 2;
  device.optimizer.state_bytes_per_parameter = 8;
  device.ranks = 4;
  const Network network = test::network_of(
      R"("features": 8)", R"({"op": "tables", "hidden": 8, "rows": [100, 20], "lookups": [5, 2]})");
  const double looked_up = 16 * 7 * 8.0 * 4, added = 16 * 2 * 8.0 * 2;
  const auto tables = compute_profile(network, 16, device).layers.at(0);
  CHECK_THAT(tables.forward.value(), test::is((looked_up + added) / 1e9));
  // Weight and two states, each read and written; before that gradients of rows in half precision
  // are put in order, read, and their sums written and read.
  const double ordered = 16 * 7 * 168.0, gradients = 16 * 7 * 8.0 * 2;
  CHECK_THAT(tables.backward.value(),
             test::is((6 * looked_up + added + ordered + 3 * gradients) / 1e9));
  device.optimizer.state_bytes_per_parameter = 0; // added as they come
  CHECK_THAT(compute_profile(network, 16, device).layers.at(0).backward.value(),
             test::is((2 * looked_up + added) / 1e9));
  device.optimizer.state_bytes_per_parameter = 8;
  CHECK_THAT(inference_profile(network, 16, device).layers.at(0).forward.value(),
             test::is((looked_up + added) / 1e9));
  // Each rank holds a share; activations: rows, and rows beside the input.
  const double activations = 16 * (2 * 8 + 3 * 8) * 2.0;
  CHECK_THAT(training_memory(network, 16, device).value(),
             test::is(120 * 8 / 4.0 * (4 + 8) + activations));
  CHECK_THAT(inference_memory(network, 1, device).value(),
             test::is(120 * 8 * 4.0 + 2.0 * (7 * 8 + 2 * 8)));
}

TEST_CASE("a product of two tensors rides along with nothing", "[profile][closed-form]")
{
  Device device = arithmetic(1e30);
  device.ordinary.memory = device.dense.memory = BytesPerSecond(1e9);
  device.fused_elementwise = true;
  const auto time = [&](const char* layers) {
    return compute_profile(test::network_of(R"("features": 100)", layers), 1, device)
        .layers.back()
        .forward.value();
  };
  CHECK_THAT(time(R"({"op": "multiply", "by": ["relu"]})"), test::is(3 * 100 * 4 / 1e9));
  CHECK(time(R"({"op": "residual", "main": ["relu"]})") == 0);
  CHECK(time(R"("relu")") == 0);
}

TEST_CASE("gradients of an input that several layers take are added up", "[profile][closed-form]")
{
  Device device = arithmetic(1e30);
  device.ordinary.memory = BytesPerSecond(1e9);
  device.ordinary.launch = Seconds(1e-5);
  Network network = two_linear_layers(1000);
  const auto one = compute_profile(network, 64, device).layers[1];
  network.layers[1].summed_gradients = 2;
  const double pass = 64 * 1000.0 * device.bytes_per_element / 1e9;
  const auto added = compute_profile(network, 64, device).layers[1];
  CHECK_THAT((added.backward - one.backward).value(), test::is(2 * (3 * pass + 1e-5)));
  CHECK(added.backward_kernels == one.backward_kernels + 2);
  // By the kernel that takes the sum, where chains are fused.
  device.fused_elementwise = true;
  CHECK_THAT((compute_profile(network, 64, device).layers[1].backward - one.backward).value(),
             test::is(2 * pass));
}

TEST_CASE("the gradient of a linear layer's bias reads that of its result",
          "[profile][closed-form]")
{
  Device device = arithmetic(1e30);
  device.ordinary.memory = BytesPerSecond(1e9);
  Network network = two_linear_layers(1000);
  const Seconds without = compute_profile(network, 64, device).layers[1].backward;
  network.layers[1] = linear_layer(Shape::vector(1000), 1000, true, false);
  const auto more = [&] {
    return (compute_profile(network, 64, device).layers[1].backward - without).value();
  };
  CHECK_THAT(more(), test::is(64 * 1000.0 * device.bytes_per_element / 1e9));
  device.kernels.activations_in_products = true;
  CHECK(more() == 0);
  // Without fused biases its pass is the product's.
  device.kernels.activations_in_products = false;
  device.kernels.fused_bias = false;
  device.dense.memory = BytesPerSecond(1e9);
  const Seconds both = compute_profile(network, 64, device).layers[1].backward;
  network.layers[1] = linear_layer(Shape::vector(1000), 1000, false, false);
  CHECK((both - compute_profile(network, 64, device).layers[1].backward).value() ==
        Approx(64 * 1000.0 * device.bytes_per_element / 1e9).epsilon(0.05)); // and the bias itself
}

TEST_CASE("heads are regrouped once each way, where their products are one call",
          "[profile][closed-form]")
{
  Device device = arithmetic(1e30);
  device.ordinary.memory = device.dense.memory = BytesPerSecond(1e9);
  Network network;
  network.layers = {regroup_layer(Shape::sequence(64, 1000))};
  const double read_and_written = 2 * 8 * 64 * 1000.0 * device.bytes_per_element / 1e9;
  const auto one_call = compute_profile(network, 8, device);
  CHECK(one_call.layers[0].forward.value() == Approx(read_and_written));
  CHECK(one_call.layers[0].backward.value() == Approx(read_and_written));
  device.kernels.batched_products = false;
  const auto head_by_head = compute_profile(network, 8, device);
  CHECK(head_by_head.layers[0].forward.value() == 0);
  CHECK(head_by_head.layers[0].backward.value() == 0);
}

TEST_CASE("products that are no convolutions have a curve of their own", "[profile][closed-form]")
{
  Device device = tiled();
  device.products = device.tiles;
  device.products->peak *= 3;
  device.clock = 0.5;
  const auto profile = compute_profile(two_linear_layers(1000), 64, device);
  CHECK_THAT(profile.layers[0].forward.value(),
             test::is(device.products->arithmetic({64, 1000, 1000}, 0.5)));
  const auto convolutions = compute_profile(two_convolutions(2), 8, device);
  CHECK_THAT(convolutions.layers[1].forward.value(),
             test::is(device.tiles->arithmetic({8 * 32 * 32, 128, 64 * 9})));
}

TEST_CASE("an engine that waits for the GPU adds a gap to each operation and update",
          "[profile][closed-form]")
{
  Device device = arithmetic(1e12);
  const Network network = two_linear_layers(1000);
  const auto eager = compute_profile(network, 64, device);
  const auto forward_alone = inference_profile(network, 64, device);
  device.operation_gap = Seconds(1e-3);
  const auto waiting = compute_profile(network, 64, device);
  CHECK_THAT((waiting.forward() - eager.forward()).value(), test::is(2e-3));
  CHECK_THAT((waiting.backward() - eager.backward()).value(), test::is(2e-3));
  CHECK_THAT((waiting.optimizer - eager.optimizer).value(), test::is(2e-3));
  CHECK_THAT((inference_profile(network, 64, device).forward() - forward_alone.forward()).value(),
             test::is(2e-3));
}

} // namespace foretrain::compute_profile_test
