// Arithmetic of PyTorch's operators, from their definitions.
#include "models/graphs/aten_operator.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::test::aten_operator_test {
namespace {

using namespace models;

double macs(const OperatorSpec& one)
{
  double product = 1;
  for (const int size : one.gemm)
    product *= size;
  return product;
}

TEST_CASE("a convolution multiplies kernel area x inputs of a group at each output of each sample")
{
  const double kernel = GENERATE(1.0, 3.0, 7.0);
  const double groups = GENERATE(1.0, 2.0);
  const double batch = GENERATE(1.0, 8.0);
  CAPTURE(kernel, groups, batch);
  const AtenCall call{.name = "aten::conv2d",
                      .inputs = {{batch, 6, 20, 20}, {16, 6 / groups, kernel, kernel}},
                      .outputs = {{batch, 16, 10, 10}},
                      .stride = {2, 2},
                      .groups = groups};
  const auto operators = operators_of(call, batch);
  REQUIRE(operators.size() == 1);
  CHECK(macs(operators[0]) == 16 * 10 * 10 * kernel * kernel * 6 / groups);
  CHECK(operators[0].window == static_cast<int>(kernel * kernel));
  CHECK(operators[0].output_elements == 16 * 10 * 10);
}

TEST_CASE("kernels of one and of three dimensions count each of theirs")
{
  const auto line = operators_of({.name = "aten::conv1d",
                                  .inputs = {{4, 8, 50}, {12, 8, 5}},
                                  .outputs = {{4, 12, 46}},
                                  .stride = {1}},
                                 4);
  REQUIRE(line.size() == 1);
  CHECK(macs(line[0]) == 12 * 46 * 8 * 5);
  const auto cube = operators_of({.name = "aten::conv3d",
                                  .inputs = {{2, 3, 8, 8, 8}, {4, 3, 2, 3, 4}},
                                  .outputs = {{2, 4, 7, 6, 5}},
                                  .stride = {1, 1, 1}},
                                 2);
  REQUIRE(cube.size() == 1);
  CHECK(macs(cube[0]) == 4 * 7 * 6 * 5 * 3 * 2 * 3 * 4);
}

TEST_CASE("a product multiplies rows by columns over what they share, in each of its batch")
{
  struct Product {
    const char* name;
    std::vector<AtenShape> inputs;
    double all; // multiplications
    const char* kind;
  };
  // Weights are [k, n], those of linear() [n, k]; what addmm and baddbmm add comes first.
  for (const auto& [name, inputs, all, kind] : std::initializer_list<Product>{
           {"aten::linear", {{8, 10, 6}, {5, 6}}, 8 * 10 * 6 * 5, "linear"},
           {"aten::linear", {{8, 6}, {5, 6}}, 8 * 6 * 5, "linear"},
           {"aten::mm", {{8, 6}, {6, 5}}, 8 * 6 * 5, "linear"},
           {"aten::addmm", {{5}, {8, 6}, {6, 5}}, 8 * 6 * 5, "linear"},
           {"aten::matmul", {{8, 10, 6}, {6, 5}}, 8 * 10 * 6 * 5, "linear"},
           {"aten::matmul", {{8, 2, 10, 6}, {8, 2, 6, 5}}, 8 * 2 * 10 * 6 * 5, "attention"},
           {"aten::bmm", {{16, 10, 6}, {16, 6, 5}}, 16 * 10 * 6 * 5, "attention"},
           {"aten::baddbmm",
            {{16, 10, 5}, {16, 10, 6}, {16, 6, 5}},
            16 * 10 * 6 * 5,
            "attention"}}) {
    CAPTURE(name, inputs);
    AtenShape out = inputs[inputs.size() - 2];
    out.back() = 5;
    const auto operators = operators_of({name, inputs, {out}, {}, 1}, 8);
    REQUIRE(operators.size() == 1);
    CHECK(8 * macs(operators[0]) == all);
    CHECK(operators[0].kind == kind);
  }
  for (const auto& inputs :
       std::vector<std::vector<AtenShape>>{{{6}, {6, 5}}, {{8, 6}, {6}}, {{8, 6}}})
    CHECK(operators_of({"aten::mm", inputs, {{8, 5}}, {}, 1}, 8).empty());
}

TEST_CASE("sums read all that they add, and a list is copied as it is put together")
{
  const auto mean = operators_of({"aten::mean", {{8, 100, 16}}, {{8, 16}}, {}, 1}, 8);
  REQUIRE(mean.size() == 1);
  CHECK(mean[0].flops == 1600);
  CHECK(mean[0].output_elements == 16);
  const auto loss = operators_of({"aten::sum", {{8, 100}}, {{}}, {}, 1}, 8);
  REQUIRE(loss.size() == 1);
  CHECK(loss[0].flops == 100);
  const auto cat = operators_of({"aten::cat", {{}, {}}, {{8, 64}}, {}, 1}, 8);
  REQUIRE(cat.size() == 1);
  CHECK(cat[0].input_elements == 64);
  CHECK(is_of_scalars({"aten::add_", {{}, {}}, {{}}, {}, 1}));
  CHECK(!is_of_scalars({"aten::add_", {{}, {8}}, {{}}, {}, 1}));
}

} // namespace
} // namespace foretrain::test::aten_operator_test
