// ONNX models made here, held against the same network as a file of layers.
#include "models/graphs/onnx.hpp"
#include "models/graphs/onnx_file.hpp"
#include "models/networks/network.hpp"
#include "sim/base/error.hpp"

#include "tests/models/graphs/onnx_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fuzzing.hpp"
#include "tests/support/packed.hpp"

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
  const std::string padded = list_attribute("pads", {1, 1, 1, 1});
  CHECK(conv({1, 6, 9, 9}, {6, 2, 3, 3}, integer_attribute("group", 3) + padded) == "no error");
  CHECK_THAT(conv({1, 6, 9, 9}, {6, 2, 3, 3}, integer_attribute("group", 3)),
             Catch::Contains("gives [1, 6, 7, 7], and 'y' is declared as [1, 6, 9, 9]"));
  CHECK_THAT(conv({1, 2, 9, 9}, {6, 2, 3, 3}, padded + list_attribute("strides", {0, 1})),
             Catch::Contains("has strides [0, 1]"));
  CHECK_THAT(conv({1, 2, 9, 9}, {6, 2, 0, 3}, padded), Catch::Contains("takes [6, 2, 0, 3]"));
  CHECK_THAT(product("MatMul", {2, 16}, {16, 0}), Catch::Contains("takes [16, 0]"));
  CHECK_THAT(product("MatMul", {2, 16}, {16, static_cast<std::uint64_t>(-4)}),
             Catch::Contains("tensor 'w' has a dimension of -4"));
  CHECK_THAT(product("MatMul", {2, 16}, {16, 1ull << 62}), Catch::Contains("a dimension of 4611"));
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

TEST_CASE("packed ONNX models, also twice, read like plain ones")
{
  const std::string whole = onnx_model(small_graph());
  const std::string once = packed(whole);
  for (const std::string& bytes : {whole, once, packed(once)})
    CHECK(read_graph(bytes).operators.size() == 5);
  CHECK_THAT(onnx_problem(once.substr(0, once.size() / 2)), Catch::Contains("cut off"));
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
