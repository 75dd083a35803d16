// ONNX models made here, held against the same network as a file of layers.
#include "models/graphs/onnx.hpp"
#include "models/graphs/onnx_file.hpp"
#include "models/networks/network.hpp"
#include "sim/base/error.hpp"

#include "tests/models/traces/kineto_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fuzzing.hpp"
#include "tests/support/problem.hpp"
#include "tests/support/wire_writer.hpp"

#include <algorithm>

namespace foretrain::test::onnx_test {
namespace {

using namespace models;

// conv 3x3 - batch norm - relu - max pool - flatten - linear, on 32 x 32 images.
std::string small_graph()
{
  return node("Conv", {"x", "w1"}, "c",
              list_attribute("kernel_shape", {3, 3}) + list_attribute("pads", {1, 1, 1, 1}) +
                  list_attribute("strides", {1, 1})) +
         node("BatchNormalization", {"c", "gamma", "beta", "mean", "var"}, "n") +
         node("Relu", {"n"}, "r") +
         node("MaxPool", {"r"}, "p",
              list_attribute("kernel_shape", {2, 2}) + list_attribute("strides", {2, 2})) +
         node("Flatten", {"p"}, "f") +
         node("Gemm", {"f", "w2", "b2"}, "y", integer_attribute("transB", 1)) +
         weight("w1", {16, 3, 3, 3}) + weight("gamma", {16}) + weight("beta", {16}) +
         weight("mean", {16}) + weight("var", {16}) + weight("w2", {10, 4096}) +
         weight("b2", {10}) + value("x", {8, 3, 32, 32}) + value("y", {8, 10}, 12);
}

constexpr const char* kSameNetwork = R"({
  "format": "foretrain.network/1", "input": {"channels": 3, "height": 32, "width": 32},
  "layers": [{"op": "conv", "out": 16, "kernel": 3, "padding": 1, "bias": false}, "batch_norm", "relu",
             {"op": "max_pool", "kernel": 2}, "flatten", {"op": "linear", "out": 10}]})";

ImportedGraph read_graph(const std::string& bytes)
{
  const TemporaryFile file(bytes, ".onnx");
  return import_onnx(file.path());
}

std::string onnx_problem(const std::string& bytes)
{
  return problem_of([&] { read_graph(bytes); });
}

Network network_of(const ImportedGraph& graph)
{
  return load_network(Value(parse_document(graph_json(graph, "made", "test").dump(), "made.json")));
}

TEST_CASE("an ONNX model costs what the same network costs as a list of layers")
{
  const Network imported = network_of(read_graph(onnx_model(small_graph())));
  const Network layers = load_network(Value(parse_document(kSameNetwork, "same.json")));
  REQUIRE(imported.layers.size() == layers.layers.size());
  for (std::size_t i = 0; i < layers.layers.size(); ++i) {
    const Layer& got = imported.layers[i];
    const Layer& wanted = layers.layers[i];
    CAPTURE(got.name, wanted.name);
    CHECK(got.kind == wanted.kind);
    CHECK(got.macs == wanted.macs);
    CHECK(got.output_elements == wanted.output_elements);
    CHECK(got.input_elements == wanted.input_elements);
    CHECK(got.gradient_tensors == wanted.gradient_tensors);
    CHECK(got.window == wanted.window);
    CHECK(got.minimal_filtering == wanted.minimal_filtering);
  }
  CHECK(totals(imported).parameters == totals(layers).parameters);
}

TEST_CASE("a convolution of an ONNX model costs a sample the same whatever the file's batch")
{
  const std::uint64_t batch = GENERATE(1u, 2u, 32u);
  CAPTURE(batch);
  const std::string graph =
      node("Conv", {"x", "w"}, "y",
           list_attribute("kernel_shape", {5, 5}) + list_attribute("strides", {2, 2})) +
      weight("w", {12, 3, 5, 5}) + value("x", {batch, 3, 29, 29});
  const ImportedGraph read = read_graph(onnx_model(graph));
  REQUIRE(read.operators.size() == 1);
  CHECK(read.operators[0].gemm == std::vector<int>{1, 13 * 13, 12, 3 * 5 * 5});
  CHECK(read.operators[0].output_elements == 12 * 13 * 13);
}

TEST_CASE("products without weights are attention and a shared weight counts once")
{
  const std::string graph = node("Gather", {"table", "ids"}, "e") +
                            node("MatMul", {"e", "w"}, "q") + node("MatMul", {"e", "w"}, "k") +
                            node("Transpose", {"k"}, "t", list_attribute("perm", {0, 2, 1})) +
                            node("MatMul", {"q", "t"}, "s") + node("Softmax", {"s"}, "p") +
                            weight("table", {1000, 64}) + weight("w", {64, 64}) +
                            value("ids", {0, 128});
  const ImportedGraph read = read_graph(onnx_model(graph));
  REQUIRE(read.operators.size() == 6);
  CHECK(read.operators[0].kind == "embedding");
  CHECK(read.operators[1].gemm == std::vector<int>{1, 128, 64, 64});
  CHECK(read.operators[1].gradients == std::vector<int>{4096});
  CHECK(read.operators[2].gradients.empty());
  CHECK(read.operators[4].kind == "attention");
  CHECK(read.operators[4].gemm == std::vector<int>{1, 128, 128, 64});
  CHECK(read.operators[5].flops == 5 * 128 * 128);
  REQUIRE(read.notes.size() == 2);
  CHECK_THAT(read.notes[1], Catch::Contains("count as 1: batch"));
}

TEST_CASE("a weight is one on whichever side of a product or sum it stands")
{
  const std::string graph = node("MatMul", {"w", "x"}, "p") + node("Add", {"bias", "p"}, "y") +
                            weight("w", {32, 64}) + weight("bias", {32, 1}) +
                            value("x", {8, 64, 30});
  const ImportedGraph read = read_graph(onnx_model(graph));
  REQUIRE(read.operators.size() == 2);
  CHECK(read.operators[0].kind == "linear");
  CHECK(read.operators[0].gemm == std::vector<int>{1, 30, 32, 64});
  CHECK(read.operators[0].gradients == std::vector<int>{32 * 64});
  CHECK(read.operators[1].gradients == std::vector<int>{32});
  CHECK(read.operators[1].output_elements == 32 * 30);
}

TEST_CASE("a transposed convolution of an ONNX model is that of a list of layers")
{
  const ImportedGraph read = read_graph(
      onnx_model(node("ConvTranspose", {"x", "w", "b"}, "y",
                      list_attribute("kernel_shape", {2, 2}) + list_attribute("strides", {2, 2})) +
                 weight("w", {64, 32, 2, 2}) + weight("b", {32}) + value("x", {2, 64, 16, 20}) +
                 value("y", {2, 32, 32, 40}, 12)));
  const Network layers = load_network(Value(parse_document(
      R"({"format": "foretrain.network/1", "input": {"channels": 64, "height": 16, "width": 20},
          "layers": [{"op": "transposed_conv", "out": 32, "kernel": 2, "stride": 2}]})",
      "same.json")));
  const Layer got = network_of(read).layers.at(0), wanted = layers.layers.at(0);
  CHECK(got.gemm.m == wanted.gemm.m);
  CHECK(got.gemm.n == wanted.gemm.n);
  CHECK(got.gemm.k == wanted.gemm.k);
  CHECK(got.window == wanted.window);
  CHECK(got.gradient_tensors == wanted.gradient_tensors);
  CHECK(got.output_elements == wanted.output_elements);
  CHECK(got.minimal_filtering == wanted.minimal_filtering);
}

TEST_CASE("minimal filtering is of kernels of 3 and 5 without stride or dilation, in groups, too")
{
  const auto filtered = [](const Dims& kernel, const Dims& strides, const Dims& dilations,
                           std::uint64_t groups) {
    Dims weights{16, 16 / groups};
    weights.insert(weights.end(), kernel.begin(), kernel.end());
    return read_graph(onnx_model(node("Conv", {"x", "w"}, "y",
                                      list_attribute("kernel_shape", kernel) +
                                          list_attribute("strides", strides) +
                                          list_attribute("dilations", dilations) +
                                          integer_attribute("group", groups)) +
                                 weight("w", weights) + value("x", {1, 16, 40, 40})))
        .operators.at(0)
        .minimal_filtering;
  };
  CHECK(filtered({3, 3}, {1, 1}, {1, 1}, 1) == 2.25);
  CHECK(filtered({3, 3}, {1, 1}, {1, 1}, 4) == 2.25);
  CHECK(filtered({5, 5}, {1, 1}, {1, 1}, 1) == Approx(100 / 36.0));
  CHECK(filtered({3, 3}, {1, 2}, {1, 1}, 1) == 1);
  CHECK(filtered({3, 3}, {1, 1}, {2, 2}, 1) == 1);
  CHECK(filtered({3, 5}, {1, 1}, {1, 1}, 1) == 1);
}

TEST_CASE("sums of products by their letters cost what the products cost")
{
  const auto einsum = [](const std::string& equation) {
    return node("Einsum", {"x", "w"}, "y", text_attribute("equation", equation));
  };
  // A linear layer, its weight on either side.
  const ImportedGraph linear =
      read_graph(onnx_model(einsum("bsd, de -> bse") + weight("w", {64, 96}) +
                            value("x", {4, 128, 64}) + value("y", {4, 128, 96}, 12)));
  REQUIRE(linear.operators.size() == 1);
  CHECK(linear.operators[0].kind == "linear");
  CHECK(linear.operators[0].gemm == std::vector<int>{1, 128, 96, 64});
  CHECK(linear.operators[0].gradients == std::vector<int>{64 * 96});
  CHECK(linear.operators[0].output_elements == 128 * 96);
  const ImportedGraph turned = read_graph(
      onnx_model(node("Einsum", {"w", "x"}, "y", text_attribute("equation", "ed,bsd->bse")) +
                 weight("w", {96, 64}) + value("x", {4, 128, 64})));
  CHECK(turned.operators.at(0).gemm == std::vector<int>{1, 128, 96, 64});
  // Scores of attention: a product for each sample and head.
  const ImportedGraph scores = read_graph(onnx_model(
      einsum("bhqd,bhkd->bhqk") + value("x", {4, 8, 100, 64}) + value("w", {4, 8, 50, 64})));
  CHECK(scores.operators.at(0).kind == "attention");
  CHECK(scores.operators.at(0).gemm == std::vector<int>{8, 100, 50, 64});
}

TEST_CASE("an operator that holds weights is computed or refused, never left out")
{
  const auto with = [](const std::string& made) {
    return onnx_model(made + node("MatMul", {"h", "w"}, "y") + weight("w", {400, 10}) +
                      value("x", {1, 35, 200}) + value("h", {1, 35, 400}));
  };
  CHECK_THAT(onnx_problem(with(node("LSTM", {"x", "i", "r"}, "h") + weight("i", {1, 1600, 200}) +
                               weight("r", {1, 1600, 400}))),
             Catch::Contains("LSTM 'LSTM_h' holds 960000 weights"));
  CHECK_THAT(onnx_problem(
                 with(node("Einsum", {"x", "v"}, "h", text_attribute("equation", "...d,de->...e")) +
                      weight("v", {200, 400}))),
             Catch::Contains("Einsum 'Einsum_h' holds 80000 weights"));
  // Lists of whole numbers and of factors are none.
  const auto notes = read_graph(with(node("Other", {"x", "t", "f"}, "h") + weight("t", {2, 3}, 7) +
                                     weight("f", {200})))
                         .notes;
  CHECK_THAT(notes.back(), Catch::Contains("1 Other left out"));
}

TEST_CASE("constants are weights where a product takes them, and nowhere else")
{
  const auto constant = [](const char* name, const Dims& dims) {
    return node("Constant", {}, name, tensor_attribute("value", dims));
  };
  const ImportedGraph read = read_graph(
      onnx_model(constant("w", {64, 96}) + constant("mask", {128, 96}) + constant("half", {}) +
                 node("MatMul", {"x", "w"}, "p") + node("Add", {"p", "mask"}, "m") +
                 node("Mul", {"m", "half"}, "y") + value("x", {4, 128, 64})));
  REQUIRE(read.operators.size() == 3);
  CHECK(read.operators[0].kind == "linear");
  CHECK(read.operators[0].gradients == std::vector<int>{64 * 96});
  CHECK(read.operators[1].gradients.empty());
  CHECK(read.operators[2].gradients.empty());
}

// y = x w for x of [batch, 5, 16], where w of [16, 24] is made of the file's weight "v".
ImportedGraph product_with(const std::string& made, std::uint64_t batch = 8)
{
  return read_graph(onnx_model(made + node("MatMul", {"x", "w"}, "y") + value("x", {batch, 5, 16}) +
                               value("y", {batch, 5, 24}, 12)));
}

void check_same_operators(const ImportedGraph& got, const ImportedGraph& wanted)
{
  REQUIRE(got.operators.size() == wanted.operators.size());
  for (std::size_t i = 0; i < got.operators.size(); ++i) {
    const OperatorSpec& a = got.operators[i];
    const OperatorSpec& b = wanted.operators[i];
    CAPTURE(i, a.name, b.name);
    CHECK(a.kind == b.kind);
    CHECK(a.gemm == b.gemm);
    CHECK(a.flops == b.flops);
    CHECK(a.input_elements == b.input_elements);
    CHECK(a.output_elements == b.output_elements);
    CHECK(a.gradients == b.gradients);
  }
}

TEST_CASE("a weight by another name, shape or type is that weight")
{
  const std::string made = GENERATE(
      node("Identity", {"v"}, "w") + weight("v", {16, 24}),
      node("Cast", {"v"}, "w", integer_attribute("to", 1)) + weight("v", {16, 24}, 10),
      node("Transpose", {"v"}, "w", list_attribute("perm", {1, 0})) + weight("v", {24, 16}),
      node("Transpose", {"v"}, "w") + weight("v", {24, 16}),
      node("Reshape", {"v", "s"}, "w") + weight("v", {384}) + whole_numbers("s", {16, 24}),
      node("Flatten", {"v"}, "w") + weight("v", {16, 4, 6}),
      node("Unsqueeze", {"v", "a"}, "u") + node("Squeeze", {"u", "a"}, "w") +
          weight("v", {16, 24}) + whole_numbers("a", {0}),
      node("Constant", {}, "s", list_attribute("value_ints", {16, 24})) +
          node("Reshape", {"v", "s"}, "w") + weight("v", {384}),
      node("Unsqueeze", {"v"}, "u", list_attribute("axes", {1})) + node("Squeeze", {"u"}, "w") +
          weight("v", {16, 24}),
      node("DequantizeLinear", {"v", "scale"}, "w") + weight("v", {16, 24}, 3) +
          weight("scale", {24}),
      node("QuantizeLinear", {"v", "scale"}, "q") + node("DequantizeLinear", {"q", "scale"}, "w") +
          weight("v", {16, 24}) + weight("scale", {24}),
      node("Constant", {}, "v", tensor_attribute("value", {24, 16})) +
          node("Transpose", {"v"}, "w"));
  const ImportedGraph read = product_with(made);
  REQUIRE(read.operators.size() == 1);
  CHECK(read.operators[0].kind == "linear");
  CHECK(read.operators[0].gemm == std::vector<int>{1, 5, 24, 16});
  CHECK(read.operators[0].gradients == std::vector<int>{384});
  CHECK(read.operators[0].input_elements == 5 * 16);
  check_same_operators(product_with(made, 1), read);
}

TEST_CASE("what is computed of weights alone costs a sample nothing and trains them all")
{
  const auto trained = [](const std::string& made) {
    const ImportedGraph read = product_with(made);
    REQUIRE(read.operators.size() == 1);
    CHECK(read.operators[0].gemm == std::vector<int>{1, 5, 24, 16});
    std::vector<int> gradients = read.operators[0].gradients;
    std::sort(gradients.begin(), gradients.end());
    return gradients;
  };
  // A scale for each column; columns of two weights; a sum with a product of low rank.
  CHECK(trained(node("Mul", {"v", "g"}, "w") + weight("v", {16, 24}) + weight("g", {1, 24})) ==
        std::vector<int>{24, 384});
  CHECK(trained(node("Concat", {"v", "u"}, "w", integer_attribute("axis", 1)) +
                weight("v", {16, 20}) + weight("u", {16, 4})) == std::vector<int>{64, 320});
  const std::string adapted = node("MatMul", {"a", "b"}, "ab") + node("Add", {"v", "ab"}, "w") +
                              weight("v", {16, 24}) + weight("a", {16, 2}) + weight("b", {2, 24});
  CHECK(trained(adapted) == std::vector<int>{32, 48, 384});
  CHECK_THAT(product_with(adapted).notes.back(),
             Catch::Contains("1 MatMul of weights alone left out"));
}

TEST_CASE("parts of one weight train it once, and are multiplied each")
{
  const std::string products = node("MatMul", {"x", "q"}, "yq") + node("MatMul", {"x", "k"}, "yk") +
                               weight("v", {16, 24}) + value("x", {8, 5, 16});
  const auto check = [](const ImportedGraph& read) {
    REQUIRE(read.operators.size() == 2);
    CHECK(read.operators[0].gemm == std::vector<int>{1, 5, 16, 16});
    CHECK(read.operators[0].gradients == std::vector<int>{384});
    CHECK(read.operators[1].gemm == std::vector<int>{1, 5, 8, 16});
    CHECK(read.operators[1].gradients.empty());
  };
  const std::string both = bytes_field(
      1, bytes_field(1, "v") + bytes_field(2, "q") + bytes_field(2, "k") + bytes_field(4, "Split") +
             integer_attribute("axis", 1) + list_attribute("split", {16, 8}));
  check(read_graph(onnx_model(both + products)));
  const auto cut = [](const char* to, std::uint64_t from, std::uint64_t end) {
    return node("Slice", {"v"}, to,
                list_attribute("axes", {1}) + list_attribute("starts", {from}) +
                    list_attribute("ends", {end}));
  };
  check(read_graph(onnx_model(cut("q", 0, 16) + cut("k", 16, 1000) + products)));
}

TEST_CASE("a head tied to its embedding predicts the same whatever the file's batch")
{
  const auto tied = [](std::uint64_t batch) {
    const std::string head = node("Transpose", {"table"}, "head", list_attribute("perm", {1, 0}));
    return read_graph(onnx_model(node("Gather", {"table", "ids"}, "h") + head +
                                 node("MatMul", {"h", "head"}, "y") + weight("table", {1000, 64}) +
                                 value("ids", {batch, 16}) + value("y", {batch, 16, 1000}, 12)));
  };
  const ImportedGraph one = tied(1);
  REQUIRE(one.operators.size() == 2);
  CHECK(one.operators[0].gradients == std::vector<int>{64'000});
  CHECK(one.operators[1].kind == "linear");
  CHECK(one.operators[1].gemm == std::vector<int>{1, 16, 1000, 64});
  CHECK(one.operators[1].gradients.empty());
  check_same_operators(tied(32), one);
}

TEST_CASE("convolutions and products of the other kind take weights by other names, too")
{
  const auto conv = [](std::uint64_t batch) {
    return read_graph(
        onnx_model(node("Identity", {"v"}, "w") +
                   node("Conv", {"x", "w"}, "y", list_attribute("pads", {1, 1, 1, 1})) +
                   weight("v", {4, 4, 3, 3}) + value("x", {batch, 4, 8, 8})));
  };
  REQUIRE(conv(8).operators.size() == 1);
  CHECK(conv(8).operators[0].gradients == std::vector<int>{144});
  check_same_operators(conv(64), conv(1));
  const ImportedGraph gemm =
      read_graph(onnx_model(node("Transpose", {"v"}, "w") +
                            node("Gemm", {"x", "w"}, "y", integer_attribute("transB", 1)) +
                            weight("v", {16, 24}) + value("x", {8, 16})));
  REQUIRE(gemm.operators.size() == 1);
  CHECK(gemm.operators[0].gemm == std::vector<int>{1, 1, 24, 16});
  CHECK(gemm.operators[0].gradients == std::vector<int>{384});
  // A weight for each of three groups, in front.
  const ImportedGraph groups = read_graph(onnx_model(
      node("MatMul", {"w", "x"}, "y") + weight("w", {3, 32, 64}) + value("x", {8, 3, 64, 30})));
  CHECK(groups.operators.at(0).gemm == std::vector<int>{1, 3 * 30, 32, 64});
}

TEST_CASE("a matrix that the graph makes trains nothing and is the same for all samples")
{
  const ImportedGraph read =
      product_with(node("ConstantOfShape", {"s"}, "w") + whole_numbers("s", {16, 24}));
  REQUIRE(read.operators.size() == 1);
  CHECK(read.operators[0].kind == "linear");
  CHECK(read.operators[0].gemm == std::vector<int>{1, 5, 24, 16});
  CHECK(read.operators[0].gradients.empty());
  check_same_operators(
      product_with(node("ConstantOfShape", {"s"}, "w") + whole_numbers("s", {16, 24}), 1), read);
}

TEST_CASE("what each sample gets of a weight of its own is work of each sample")
{
  const ImportedGraph read = read_graph(onnx_model(
      node("Expand", {"queries", "s"}, "q") + node("MatMul", {"q", "w"}, "y") +
      weight("queries", {1, 10, 16}) + weight("w", {16, 24}) + whole_numbers("s", {8, 10, 16}) +
      value("x", {8, 3}) + value("q", {8, 10, 16}, 13)));
  REQUIRE(read.operators.size() == 2);
  CHECK(read.operators[0].gradients == std::vector<int>{160});
  CHECK(read.operators[1].gemm == std::vector<int>{1, 10, 24, 16});
}

TEST_CASE("limits, sizes and scales are no weights, and masks are no traffic of a sample")
{
  const ImportedGraph read = read_graph(onnx_model(
      node("Clip", {"x", "least", "most"}, "c") + node("Pow", {"c", "two"}, "p") +
      node("Resize", {"p", "", "scales"}, "r") + node("QuantizeLinear", {"r", "step"}, "q") +
      node("DequantizeLinear", {"q", "step"}, "d") +
      node("Constant", {}, "mask", tensor_attribute("value", {10, 10})) +
      node("Add", {"d", "mask"}, "y") + weight("least", {}) + weight("most", {}) +
      weight("two", {}) + weight("scales", {4}) + weight("step", {3}) + value("x", {8, 3, 5, 5}) +
      value("r", {8, 3, 10, 10}, 13)));
  REQUIRE(read.operators.size() == 6);
  for (const OperatorSpec& one : read.operators)
    CHECK(one.gradients.empty());
  CHECK(read.operators[5].input_elements == 3 * 10 * 10);
}

TEST_CASE("weights of graphs inside of an operator are held by it")
{
  const std::string inside = bytes_field(1, bytes_field(1, "h") + bytes_field(1, "inner") +
                                                bytes_field(2, "z") + bytes_field(4, "MatMul"));
  const std::string branch = inside + bytes_field(5, tensor({24, 24}, 1) + bytes_field(8, "inner"));
  const std::string graph = bytes_field(5, bytes_field(1, "then_branch") + bytes_field(6, branch));
  const std::string model = node("MatMul", {"x", "w"}, "h") + node("If", {"cond"}, "y", graph) +
                            weight("w", {16, 24}) + value("x", {8, 16});
  CHECK_THAT(onnx_problem(onnx_model(model)), Catch::Contains("If 'If_y' holds 576 weights"));
  // By another name, too.
  CHECK_THAT(onnx_problem(onnx_model(node("Transpose", {"v"}, "t") + node("MyOp", {"x", "t"}, "y") +
                                     weight("v", {16, 24}) + value("x", {8, 16}))),
             Catch::Contains("MyOp 'MyOp_y' holds 384 weights"));
}

TEST_CASE("shapes that do not fit each other are refused with what would")
{
  const auto conv = [](const Dims& input, const Dims& weights, const std::string& attributes,
                       const char* op = "Conv") {
    Dims output{input[0], 6};
    output.insert(output.end(), input.begin() + 2, input.end());
    return onnx_problem(onnx_model(node(op, {"x", "w"}, "y", attributes) + weight("w", weights) +
                                   value("x", input) + value("y", output, 12)));
  };
  const auto product = [](const char* op, const Dims& left, const Dims& right,
                          const std::string& attributes = "") {
    Dims output = left;
    output.back() = right.back();
    return onnx_problem(onnx_model(node(op, {"x", "w"}, "y", attributes) + weight("w", right) +
                                   value("x", left) + value("y", output, 12)));
  };
  CHECK_THAT(product("MatMul", {2, 16}, {17, 16}),
             Catch::Contains("MatMul 'MatMul_y' multiplies [2, 16] by [17, 16]: 16 is not 17") &&
                 Catch::Contains("the columns of the first must be the rows of the second"));
  CHECK_THAT(product("MatMul", {2, 4, 16}, {3, 16, 8}), Catch::Contains("must be equal, or 1"));
  CHECK_THAT(product("Gemm", {2, 16}, {16, 24}, integer_attribute("transB", 1)),
             Catch::Contains("16 is not 24"));
  CHECK_THAT(product("Gemm", {2, 5, 16}, {16, 24}), Catch::Contains("takes two matrices"));
  CHECK(product("Gemm", {16, 2}, {24, 16},
                integer_attribute("transA", 1) + integer_attribute("transB", 1)) == "no error");
  CHECK(product("MatMul", {2, 4, 16}, {1, 16, 8}) == "no error");
  CHECK_THAT(
      conv({1, 2, 9, 9}, {6, 2, 3, 3}, list_attribute("kernel_shape", {5, 5})),
      Catch::Contains("Conv 'Conv_y' has kernel_shape [5, 5] and a weight of [6, 2, 3, 3]") &&
          Catch::Contains("must be [3, 3]"));
  CHECK_THAT(conv({1, 2, 9, 9}, {6, 2, 3, 3}, integer_attribute("group", 3)),
             Catch::Contains("has 2 channels in, group 3 and a weight of [6, 2, 3, 3]") &&
                 Catch::Contains("6 channels fit that weight"));
  CHECK_THAT(conv({1, 8, 9, 9}, {6, 2, 3, 3}, integer_attribute("group", 4)),
             Catch::Contains("group must divide 6"));
  CHECK_THAT(conv({1, 2, 9}, {6, 2, 3, 3}, ""), Catch::Contains("same number of dimensions"));
  CHECK(conv({1, 6, 9, 9}, {6, 2, 3, 3}, integer_attribute("group", 3)) == "no error");
  CHECK_THAT(conv({1, 4, 9, 9}, {2, 6, 3, 3}, "", "ConvTranspose"),
             Catch::Contains("2 channels fit that weight"));
  CHECK(conv({1, 4, 9, 9}, {4, 3, 3, 3}, integer_attribute("group", 2), "ConvTranspose") ==
        "no error");
  CHECK_THAT(onnx_problem(onnx_model(
                 node("Einsum", {"x", "w"}, "y", text_attribute("equation", "bd,de->be")) +
                 weight("w", {17, 24}) + value("x", {8, 16}))),
             Catch::Contains("has 16 and 17 for 'd'"));
  CHECK_THAT(onnx_problem(onnx_model(node("BatchNormalization", {"x", "s", "s", "s", "s"}, "y") +
                                     weight("s", {5}) + value("x", {8, 4, 6, 6}))),
             Catch::Contains("has a scale of [5] for an input of [8, 4, 6, 6]"));
  // A length that is not told does not make one that differs.
  CHECK_THAT(onnx_problem(onnx_model(node("Flatten", {"x"}, "f") + node("MatMul", {"f", "w"}, "y") +
                                     weight("w", {8 * 49, 10}) + value("x", {0, 8, 0, 0}))),
             Catch::Contains("[1, 8] by [392, 10]") && Catch::Contains("count as 1, save it with"));
  const std::string past = node("Concat", {"x", "x", "x"}, "k", integer_attribute("axis", 1)) +
                           node("Concat", {"x", "x"}, "v", integer_attribute("axis", 1)) +
                           node("Transpose", {"k"}, "p", list_attribute("perm", {0, 2, 1})) +
                           node("MatMul", {"p", "v"}, "y");
  CHECK(onnx_problem(onnx_model(past + value("x", {1, 0, 16}))).find("multiplies") ==
        std::string::npos);
  // What is not told fits anything.
  CHECK(onnx_problem(onnx_model(node("MatMul", {"x", "w"}, "y") + weight("w", {17, 16}) +
                                value("x", {2, 0}))) == "no error");
}

TEST_CASE("what an ONNX model does not tell is one clear line")
{
  const std::string unknown = node("Conv", {"x", "w"}, "y") + weight("w", {4, 4, 3, 3});
  CHECK_THAT(onnx_problem(onnx_model(unknown)),
             Catch::Contains("Conv 'Conv_y' has no shape for 'x'"));
  CHECK_THAT(onnx_problem(onnx_model("")), Catch::Contains("without operators"));
  const std::string whole = onnx_model(small_graph());
  CHECK_THAT(onnx_problem(whole.substr(0, whole.size() / 2)), Catch::Contains("cut off"));
  const std::string other =
      node("Relu", {"x"}, "r") + node("MyOp", {"r"}, "y") + value("x", {1, 8});
  const auto notes = read_graph(onnx_model(other)).notes;
  CHECK_THAT(notes.back(), Catch::Contains("1 MyOp left out"));
}

TEST_CASE("ONNX models are known by their first bytes")
{
  const std::string whole = onnx_model(small_graph());
  CHECK(looks_like_onnx(whole));
  CHECK(looks_like_onnx(whole.substr(0, 64)));
  CHECK(!looks_like_onnx("{\"traceEvents\": []}"));
  CHECK(!looks_like_onnx("name,count,time_us\n"));
  CHECK(!looks_like_onnx(""));
}

TEST_CASE("damaged ONNX models never end in anything but a ConfigError", "[fuzz]")
{
  const std::string parts =
      node("Slice", {"v", "from", "to"}, "s") + node("Unsqueeze", {"s", "from"}, "u") +
      node("Squeeze", {"u"}, "w") + node("MatMul", {"x", "w"}, "y") + weight("v", {20, 24}) +
      whole_numbers("from", {0}) + whole_numbers("to", {16}) + value("x", {8, 16});
  const std::string whole = GENERATE_COPY(onnx_model(small_graph()), onnx_model(parts));
  Damage damage;
  const int runs = fuzz_runs(3000);
  int read_anyway = 0;
  for (int i = 0; i < runs; ++i) {
    const std::string damaged = damage.to(whole);
    try {
      network_of(read_graph(damaged));
      ++read_anyway;
    } catch (const ConfigError&) {
    }
  }
  CHECK(read_anyway > 0);
  CHECK(read_anyway < runs);
}

} // namespace
} // namespace foretrain::test::onnx_test
