// Weights and constants of ONNX models, by whatever way a product takes them.
#include "models/graphs/onnx.hpp"
#include "sim/base/error.hpp"

#include "tests/models/graphs/onnx_support.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::test::onnx_weights_test {
namespace {

using namespace models;

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

} // namespace
} // namespace foretrain::test::onnx_weights_test
