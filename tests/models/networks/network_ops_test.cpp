// Each op against its closed form.
#include "tests/models/network_support.hpp"

#include <catch2/catch.hpp>

namespace foretrain::network_ops_test {

using namespace foretrain::models;
using test::kImage;
using test::network_of;

namespace {

Layer only_layer(const std::string& input, const std::string& layer)
{
  const Network network = network_of(input, layer);
  REQUIRE(network.layers.size() == 1);
  return network.layers.front();
}

using Tensors = std::vector<std::int64_t>;

} // namespace

TEST_CASE("conv does OH x OW x out x (in / groups) x KH x KW multiply-accumulates",
          "[models][network][closed-form]")
{
  const int kernel = GENERATE(1, 3, 5);
  const int stride = GENERATE(1, 2, 3);
  const int groups = GENERATE(1, 2, 16);
  const std::string padding = GENERATE("\"same\"", "\"valid\"", "1");
  CAPTURE(kernel, stride, groups, padding);
  const Layer layer =
      only_layer(kImage, R"({"op": "conv", "out": 32, "kernel": )" + std::to_string(kernel) +
                             R"(, "stride": )" + std::to_string(stride) + R"(, "groups": )" +
                             std::to_string(groups) + R"(, "padding": )" + padding + "}");

  const auto length = [&](int input) {
    if (padding == "\"same\"")
      return (input + stride - 1) / stride; // TensorFlow: ceil(input / stride)
    const int pad = padding == "1" ? 1 : 0;
    return (input + 2 * pad - kernel) / stride + 1; // PyTorch: floor(...) + 1
  };
  const int height = length(20);
  const int width = length(30);
  const int weights = 32 * (16 / groups) * kernel * kernel;
  CHECK(layer.output == Shape::image(32, height, width));
  CHECK(layer.macs == height * width * weights);
  CHECK(layer.forward_flops.value() == 2.0 * height * width * weights);
  CHECK(layer.gradient_tensors == Tensors{weights, 32});
  CHECK(layer.parameters == weights + 32);
  CHECK(layer.input_elements == 16 * 20 * 30);
  CHECK(layer.output_elements == 32 * height * width);
  CHECK(layer.gemm.macs() == layer.macs);
  CHECK(layer.gemm.count == groups);
}

TEST_CASE("conv takes kernel, stride and padding as [height, width]", "[models][network]")
{
  const Layer layer =
      only_layer(kImage, R"({"op": "conv", "out": 8, "kernel": [1, 7], "stride": [2, 1],
                                            "padding": [0, 3], "bias": false})");
  CHECK(layer.output == Shape::image(8, 10, 30));
  CHECK(layer.gradient_tensors == Tensors{8 * 16 * 7});
}

TEST_CASE("defaults hold for every conv that does not say otherwise", "[models][network]")
{
  const Network network = network_of(R"({
    "input": {"channels": 3, "height": 8, "width": 8},
    "defaults": {"conv": {"bias": false, "padding": "valid", "then": ["batch_norm", "relu"]},
                 "batch_norm": {"scale": false}},
    "layers": [{"op": "conv", "out": 4, "kernel": 3},
               {"op": "conv", "out": 4, "kernel": 3, "bias": true, "padding": "same", "then": []},
               {"op": "batch_norm", "scale": true}]})");
  REQUIRE(network.layers.size() == 5);
  CHECK(network.layers[0].gradient_tensors == Tensors{108});
  CHECK(network.layers[0].output == Shape::image(4, 6, 6));
  CHECK(network.layers[1].gradient_tensors == Tensors{4}); // beta alone
  CHECK(network.layers[2].op == "relu");
  CHECK(network.layers[3].gradient_tensors == Tensors{144, 4});
  CHECK(network.layers[3].output == Shape::image(4, 6, 6));
  CHECK(network.layers[4].gradient_tensors == Tensors{4, 4});
}

TEST_CASE("defaults of a convolution are those of a transposed one", "[models][network]")
{
  const Network network = network_of(R"({
    "input": {"channels": 3, "height": 8, "width": 8},
    "defaults": {"conv": {"bias": false, "then": ["relu"]}},
    "layers": [{"op": "transposed_conv", "out": 4, "kernel": 2},
               {"op": "transposed_conv", "out": 4, "kernel": 2, "bias": true, "then": []}]})");
  REQUIRE(network.layers.size() == 3);
  CHECK(network.layers[0].gradient_tensors == Tensors{3 * 4 * 4});
  CHECK(network.layers[1].op == "relu");
  CHECK(network.layers[2].gradient_tensors == Tensors{4 * 4 * 4, 4});
}

TEST_CASE("defaults of linear hold as well", "[models][network]")
{
  const Network network = network_of(R"({
    "input": {"features": 5}, "defaults": {"linear": {"bias": false, "then": ["tanh"]}},
    "layers": [{"op": "linear", "out": 4}, {"op": "linear", "out": 3, "bias": true, "then": []}]})");
  REQUIRE(network.layers.size() == 3);
  CHECK(network.layers[0].gradient_tensors == Tensors{20});
  CHECK(network.layers[1].op == "tanh");
  CHECK(network.layers[2].gradient_tensors == Tensors{12, 3});
}

TEST_CASE("linear does positions x in x out multiply-accumulates", "[models][network][closed-form]")
{
  const Layer vector = only_layer("\"features\": 100", R"({"op": "linear", "out": 10})");
  CHECK(vector.macs == 1000);
  CHECK(vector.gradient_tensors == Tensors{1000, 10});
  const Layer tokens =
      only_layer(R"("tokens": 7, "hidden": 100)", R"({"op": "linear", "out": 10, "bias": false})");
  CHECK(tokens.macs == 7000);
  CHECK(tokens.gradient_tensors == Tensors{1000});
  CHECK(tokens.output == Shape::sequence(7, 10));
  CHECK(tokens.gemm.m == 7);
}

TEST_CASE("attention is 4 t h^2 + 2 t^2 h multiply-accumulates, whatever the heads",
          "[models][network][closed-form]")
{
  const int heads = GENERATE(1, 4, 12);
  const int tokens = GENERATE(1, 10, 33);
  CAPTURE(heads, tokens);
  const double t = tokens;
  const double h = 96;
  const Network network =
      network_of(R"("hidden": 96, "tokens": )" + std::to_string(tokens),
                 R"({"op": "attention", "heads": )" + std::to_string(heads) + "}");
  const NetworkTotals sum = totals(network);
  CHECK(sum.macs == 4 * t * h * h + 2 * t * t * h);
  CHECK(sum.parameters == 4 * (96 * 96 + 96));
  CHECK(sum.gradient_tensors == 8);
  // Scores are heads x t x t: written once by the product, then by scale and mask, then by softmax.
  // Several heads want queries, keys, values and the context in another order.
  const int regrouped = heads > 1 ? 4 : 0;
  CHECK(sum.activation_elements == 3 * heads * tokens * tokens + (5 + regrouped) * tokens * 96);
  CHECK(sum.forward_flops.value() == 2 * sum.macs + (2 + 5) * heads * t * t);
  CHECK(network.layers.back().output == Shape::sequence(tokens, 96));
}

TEST_CASE("what looks at some tokens computes for these alone", "[models][network]")
{
  const Network network = network_of(R"("tokens": 128, "hidden": 32)", R"(
    {"op": "gather_tokens", "count": 20}, {"op": "linear", "out": 1000, "bias": false})");
  CHECK(network.layers[0].output == Shape::sequence(20, 32));
  CHECK(network.layers[0].input_elements == 20 * 32);
  CHECK(network.layers[1].macs == 20 * 32 * 1000);
  CHECK(test::problem_of(R"({"input": {"tokens": 12, "hidden": 8}, "layers": [
          {"op": "gather_tokens", "count": 13}]})")
            .find("must be at most the 12 tokens, got 13") != std::string::npos);
}

TEST_CASE("attention without weights is batched over samples and heads", "[models][network]")
{
  const Network network =
      network_of(R"("tokens": 10, "hidden": 24)", R"({"op": "attention", "heads": 3})");
  for (const Layer& layer : network.layers) {
    CAPTURE(layer.name);
    if (layer.kind == LayerKind::attention) {
      CHECK(layer.gemm.count == 3);
      CHECK(layer.gradient_tensors.empty());
    }
  }
  CHECK(network.layers[4].name == "attention.scores");
  CHECK(network.layers[4].input_elements == 2 * 10 * 24); // query and key
  CHECK(network.layers[7].name == "attention.context");
  CHECK(network.layers[7].input_elements == 10 * 24 + 3 * 10 * 10); // value and probabilities
  CHECK(network.layers[4].gemm.k == 8);
}

TEST_CASE("normalisation trains two vectors; moving averages are state, not gradients",
          "[models][network][closed-form]")
{
  const Layer batch = only_layer(kImage, "\"batch_norm\"");
  CHECK(batch.gradient_tensors == Tensors{16, 16});
  CHECK(batch.state_elements == 32);
  CHECK(batch.forward_flops.value() == 8.0 * 16 * 20 * 30);
  const Layer layer = only_layer(R"("tokens": 5, "hidden": 12)", "\"layer_norm\"");
  CHECK(layer.gradient_tensors == Tensors{12, 12});
  CHECK(layer.state_elements == 0);
  CHECK(layer.output_elements == 60);
  const Layer beta = only_layer(kImage, R"({"op": "batch_norm", "scale": false})");
  CHECK(beta.gradient_tensors == Tensors{16});
  CHECK(beta.forward_flops.value() == 7.0 * 16 * 20 * 30);
}

TEST_CASE("elementwise functions cost their operations per element",
          "[models][network][closed-form]")
{
  const auto [op, flops] = GENERATE(table<std::string, double>(
      {{"relu", 1}, {"gelu", 5}, {"tanh", 1}, {"sigmoid", 4}, {"softmax", 5}, {"dropout", 2}}));
  CAPTURE(op);
  const Layer layer = only_layer("\"features\": 50", "\"" + op + "\"");
  CHECK(layer.forward_flops.value() == flops * 50);
  CHECK(layer.kind == LayerKind::elementwise);
  CHECK(layer.macs == 0);
  CHECK(layer.parameters == 0);
}

TEST_CASE("pooling costs one operation per element of each window",
          "[models][network][closed-form]")
{
  const Layer maximum = only_layer(kImage, R"({"op": "max_pool", "kernel": 3, "stride": 2})");
  CHECK(maximum.output == Shape::image(16, 9, 14));
  CHECK(maximum.forward_flops.value() == 8.0 * 16 * 9 * 14);
  const Layer average = only_layer(kImage, R"({"op": "avg_pool", "kernel": 2})"); // stride 2
  CHECK(average.output == Shape::image(16, 10, 15));
  CHECK(average.forward_flops.value() == 4.0 * 16 * 10 * 15);
  const Layer global = only_layer(kImage, "\"global_avg_pool\"");
  CHECK(global.output == Shape::vector(16));
  CHECK(global.forward_flops.value() == 16.0 * 20 * 30);
  const Layer lrn = only_layer(kImage, R"({"op": "lrn", "size": 5})");
  CHECK(lrn.forward_flops.value() == 9.0 * 16 * 20 * 30);
}

TEST_CASE("embedding adds one row of each table per token", "[models][network][closed-form]")
{
  const Layer layer = only_layer(
      "\"tokens\": 6",
      R"({"op": "embedding", "vocab": 100, "hidden": 8, "positions": 20, "token_types": 2})");
  CHECK(layer.gradient_tensors == Tensors{800, 160, 16});
  CHECK(layer.output == Shape::sequence(6, 8));
  CHECK(layer.input_elements == 3 * 48);
  CHECK(layer.forward_flops.value() == 2.0 * 48);
}

TEST_CASE("a tied linear multiplies by the embedding and trains only its bias", "[models][network]")
{
  const Network network =
      network_of("\"tokens\": 6", R"({"op": "embedding", "vocab": 100, "hidden": 8},
                                                          {"op": "linear", "out": 100, "tied": true})");
  CHECK(network.layers[1].gradient_tensors == Tensors{100});
  CHECK(network.layers[1].macs == 6 * 8 * 100);
}

TEST_CASE("residual adds, branches concatenate, flatten is free", "[models][network][closed-form]")
{
  const Network network = network_of(kImage, R"(
    {"op": "residual", "main": ["relu", {"op": "conv", "out": 16, "kernel": 3}], "then": ["relu"]},
    {"op": "branches", "paths": [[], [{"op": "conv", "out": 4, "kernel": 1}]]},
    "flatten", {"op": "linear", "out": 2})");
  std::vector<std::string> ops;
  for (const Layer& layer : network.layers)
    ops.push_back(layer.op);
  CHECK(ops == std::vector<std::string>{"relu", "conv", "add", "relu", "conv", "concat", "linear"});
  CHECK(network.layers[2].input_elements == 2 * 16 * 600);
  CHECK(network.layers[2].forward_flops.value() == 16 * 600);
  CHECK(network.layers[5].output == Shape::image(20, 20, 30));
  CHECK(network.layers[5].forward_flops.value() == 0);
  CHECK(network.layers[6].gemm.k == 20 * 600);
}

TEST_CASE("heads each start from the same input", "[models][network]")
{
  const Network network = network_of(R"("tokens": 6, "hidden": 8)", R"(
    {"op": "heads", "paths": [[{"op": "linear", "out": 3}], ["first_token", {"op": "linear", "out": 5}]]})");
  REQUIRE(network.layers.size() == 3);
  CHECK(network.layers[0].macs == 6 * 8 * 3);
  CHECK(network.layers[1].output == Shape::vector(8));
  CHECK(network.layers[2].macs == 8 * 5);
}

TEST_CASE("multiply takes factors of its shape or one for each channel",
          "[models][network][closed-form]")
{
  const Network network = network_of(kImage, R"(
    {"op": "multiply", "by": ["global_avg_pool", {"op": "linear", "out": 16, "then": ["sigmoid"]}]},
    {"op": "multiply", "by": ["swish"]}, "scale")");
  REQUIRE(network.layers.size() == 7);
  CHECK(network.layers[3].op == "multiply");
  CHECK(network.layers[3].output == Shape::image(16, 20, 30));
  CHECK(network.layers[3].input_elements == 16 * 600 + 16);
  CHECK(network.layers[3].forward_flops.value() == 16 * 600);
  CHECK(network.layers[4].forward_flops.value() == 5 * 16 * 600);
  CHECK(network.layers[5].input_elements == 2 * 16 * 600);
  CHECK(network.layers[6].gradient_tensors == Tensors{16});
  const std::string problem = test::problem_of(
      R"({"input": {"channels": 16, "height": 20, "width": 30}, "layers": [
          {"op": "multiply", "by": ["global_avg_pool", {"op": "linear", "out": 8}]}]})");
  CHECK(problem.find("the input is 16x20x30, the factors are 8") != std::string::npos);
  CHECK(problem.find("/layers/0/by") != std::string::npos);
}

TEST_CASE("images grow by windows of a transposed convolution or by copies",
          "[models][network][closed-form]")
{
  const Layer grown = only_layer(
      kImage, R"({"op": "transposed_conv", "out": 8, "kernel": 3, "stride": 2, "bias": false})");
  CHECK(grown.output == Shape::image(8, 40, 60));
  CHECK(grown.macs == 20 * 30 * 16 * 8 * 9);
  CHECK(grown.gradient_tensors == Tensors{16 * 8 * 9});
  CHECK(grown.input_elements == 16 * 600);
  const Layer nearest = only_layer(kImage, R"({"op": "upsample", "factor": [2, 3]})");
  CHECK(nearest.output == Shape::image(16, 40, 90));
  CHECK(nearest.forward_flops.value() == 0);
  const Layer linear = only_layer(kImage, R"({"op": "upsample", "factor": 2, "linear": true})");
  CHECK(linear.forward_flops.value() == 8.0 * 16 * 40 * 60);
}

TEST_CASE("volumes have a third side in every window", "[models][network][closed-form]")
{
  const char* const volume = R"("channels": 4, "depth": 8, "height": 20, "width": 30)";
  const Layer conv =
      only_layer(volume, R"({"op": "conv", "out": 6, "kernel": 3, "stride": [1, 2, 2]})");
  CHECK(conv.output == Shape::volume(6, 8, 10, 15));
  CHECK(conv.output.text() == "6x8x10x15");
  CHECK(conv.macs == 8 * 10 * 15 * 6 * 4 * 27);
  CHECK(conv.gradient_tensors == Tensors{6 * 4 * 27, 6});
  CHECK(conv.minimal_filtering == 1);
  const Layer padded =
      only_layer(volume, R"({"op": "conv", "out": 6, "kernel": 3, "padding": [0, 1, 1]})");
  CHECK(padded.output == Shape::volume(6, 6, 20, 30));
  const Layer pool = only_layer(volume, R"({"op": "max_pool", "kernel": 2})");
  CHECK(pool.output == Shape::volume(4, 4, 10, 15));
  CHECK(pool.forward_flops.value() == 7 * 4 * 4 * 10 * 15);
  // Each side steps by the kernel's own unless told otherwise.
  for (const char* op : {"max_pool", "avg_pool"}) {
    const auto pooled = [&](const std::string& kernel) {
      return only_layer(volume, std::string(R"({"op": ")") + op + R"(", "kernel": )" + kernel + "}")
          .output;
    };
    CHECK(pooled("[1, 2, 2]") == Shape::volume(4, 8, 10, 15));
    CHECK(pooled("[4, 1, 3]") == Shape::volume(4, 2, 20, 10));
  }
  const Layer grown =
      only_layer(volume, R"({"op": "transposed_conv", "out": 2, "kernel": 2, "stride": 2})");
  CHECK(grown.output == Shape::volume(2, 16, 40, 60));
  CHECK(grown.macs == 8 * 20 * 30 * 4 * 2 * 8);
  CHECK(only_layer(volume, "\"group_norm\"").gradient_tensors == Tensors{4, 4});
}

TEST_CASE("attention in windows: each token meets those of its own", "[models][network]")
{
  const Network network = network_of(R"("channels": 8, "height": 4, "width": 6)", R"("tokens",
    {"op": "attention", "heads": 2, "window": 6, "position_bias": 11},
    {"op": "merge_tokens", "count": 4}, {"op": "linear", "out": 16, "bias": false})");
  const auto layer = [&](const std::string& name) {
    for (const Layer& one : network.layers)
      if (one.name == name)
        return one;
    throw std::logic_error(name);
  };
  CHECK(layer("attention.scores").macs == 24 * 6 * 8);
  CHECK(layer("attention.context").macs == 24 * 6 * 8);
  CHECK(layer("attention.position_bias").gradient_tensors == Tensors{22});
  CHECK(layer("attention.softmax").output == Shape::sequence(24, 2 * 6));
  CHECK(layer("merge_tokens1").output == Shape::sequence(6, 32));
  CHECK(layer("linear1").macs == 6 * 32 * 16);
  CHECK(test::problem_of(R"({"input": {"tokens": 24, "hidden": 8}, "layers": [
          {"op": "attention", "heads": 2, "window": 5}]})")
            .find("must divide the 24 tokens, got 5") != std::string::npos);
}

TEST_CASE("attention in one kernel: both products, and no scores written", "[models][network]")
{
  const std::string input = R"("tokens": 24, "hidden": 8)";
  const Network apart = network_of(input, R"({"op": "attention", "heads": 2})");
  const Network fused = network_of(input, R"({"op": "attention", "heads": 2, "fused": true})");
  CHECK(totals(fused).macs == totals(apart).macs);
  CHECK(totals(fused).parameters == totals(apart).parameters);
  const auto& layers = fused.layers;
  const auto kernel = std::find_if(layers.begin(), layers.end(), [](const Layer& layer) {
    return layer.name == "attention.fused";
  });
  REQUIRE(kernel != layers.end());
  CHECK(kernel->input_elements == 3 * 24 * 8);
  CHECK(kernel->output_elements == 24 * 8);
  CHECK(kernel->gemm.count == 2);
  CHECK(std::none_of(layers.begin(), layers.end(),
                     [](const Layer& layer) { return layer.op == "softmax"; }));
  // What it attends to may be another sequence.
  const Network cross = network_of(input, R"({"op": "encoder", "tokens": 6, "layers": [
      {"op": "embedding", "vocab": 10, "hidden": 4}]},
      {"op": "attention", "heads": 2, "cross": true, "fused": true})");
  const Layer& last = cross.layers.at(cross.layers.size() - 3);
  CHECK(last.name == "attention.fused");
  CHECK(last.input_elements == 24 * 8 + 2 * 6 * 8);
  CHECK(last.macs == 2 * 24 * 6 * 8);
  CHECK(test::problem_of(R"({"input": {"tokens": 24, "hidden": 8}, "layers": [
          {"op": "attention", "heads": 2, "position_bias": 3, "fused": true}]})")
            .find("/layers/0/fused") != std::string::npos);
}

TEST_CASE("a condition is a second input that layers add a projection of", "[models][network]")
{
  const Network network = network_of(R"("channels": 4, "height": 3, "width": 5)", R"(
    {"op": "condition", "name": "time", "features": 6, "layers": [{"op": "linear", "out": 10}, "swish"]},
    {"op": "conv", "out": 7, "kernel": 1, "bias": false}, "add_condition", "tokens",
    {"op": "image", "height": 5, "width": 3})");
  REQUIRE(network.layers.size() == 6);
  CHECK(network.layers[0].name == "time.linear1");
  CHECK(network.layers[0].gradient_tensors == Tensors{60, 10});
  CHECK(network.layers[3].output == Shape::vector(10)); // swish of the condition
  CHECK(network.layers[4].gradient_tensors == Tensors{70, 7});
  CHECK(network.layers[5].output == Shape::image(7, 3, 5));
  CHECK(network.layers[5].input_elements == 7 * 3 * 5 + 7);
  CHECK(network.layers[5].forward_flops == Flops(7 * 3 * 5));
  CHECK(test::problem_of(R"({"input": {"features": 4}, "layers": ["add_condition"]})")
            .find("needs a condition before it") != std::string::npos);
  CHECK(test::problem_of(R"({"input": {"tokens": 6, "hidden": 4}, "layers": [
          {"op": "image", "height": 2, "width": 2}]})")
            .find("must have as many positions as there are tokens, 6, got 2 x 2") !=
        std::string::npos);
  CHECK(test::problem_of(R"({"input": {"features": 4}, "layers": [{"op": "condition",
          "features": 3, "layers": [{"op": "embedding", "vocab": 3, "hidden": 2}]}]})")
            .find("layers/0/layers") != std::string::npos);
}

TEST_CASE("a gated linear unit multiplies two projections of one input", "[models][network]")
{
  const Network network = network_of(R"("tokens": 6, "hidden": 4)", R"({"op": "multiply",
      "main": [{"op": "linear", "out": 12}], "by": [{"op": "linear", "out": 12}, "gelu"]},
      {"op": "linear", "out": 4})");
  REQUIRE(network.layers.size() == 5);
  CHECK(network.layers[3].op == "multiply");
  CHECK(network.layers[3].output == Shape::sequence(6, 12));
  CHECK(totals(network).parameters == 2 * (4 * 12 + 12) + 12 * 4 + 4);
  CHECK(test::problem_of(R"({"input": {"features": 4}, "layers": [{"op": "multiply",
          "main": [{"op": "linear", "out": 12}], "by": [{"op": "linear", "out": 8}]}]})")
            .find("does not fit: main is 12, the factors are 8") != std::string::npos);
}

} // namespace foretrain::network_ops_test
