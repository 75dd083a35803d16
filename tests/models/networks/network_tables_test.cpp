// Embedding tables that ranks divide among themselves, and what recommenders make of their rows.
#include "tests/models/network_support.hpp"

#include <catch2/catch.hpp>

namespace foretrain::network_tables_test {

using namespace foretrain::models;
using Catch::Matchers::Contains;
using test::network_of;
using test::problem_of;

namespace {

constexpr const char* kFeatures = R"("features": 5)";

std::string problem_with(const std::string& layer)
{
  return problem_of(R"({"input": {"features": 5}, "layers": [)" + layer + "]}");
}

} // namespace

TEST_CASE("a network with tables that names no optimizer has none with momentum",
          "[models][network]")
{
  CHECK(network_of(kFeatures, R"({"op": "tables", "hidden": 16, "rows": [9], "lookups": [1],
                     "main": [{"op": "linear", "out": 16}]}, "interact")")
            .optimizer == "plain-sgd");
  CHECK(network_of(kFeatures, R"({"op": "linear", "out": 16})").optimizer == "sgd-momentum");
}

TEST_CASE("tables send a row each, made of as many as a sample looks up", "[models][network]")
{
  const Network network = network_of(
      kFeatures, R"({"op": "tables", "hidden": 16, "rows": [1000, 30, 7], "lookups": [4, 1, 2],
                     "main": [{"op": "linear", "out": 16}]}, "interact", {"op": "linear", "out": 1})");
  REQUIRE(network.layers.size() == 5);
  const Layer& tables = network.layers[0];
  CHECK(tables.divided_parameters == 1037 * 16);
  CHECK(tables.parameters == 0);
  CHECK(tables.gradient_tensors.empty());
  CHECK(tables.input_elements == 7 * 16);
  CHECK(tables.output_elements == 3 * 16);
  CHECK(tables.exchanged_elements == 3 * 16);
  CHECK(tables.forward_flops.value() == 4 * 16); // additions of rows
  CHECK_FALSE(tables.gathers);
  CHECK(network.layers[1].kind == LayerKind::linear);
  CHECK(network.layers[1].input_elements == 5); // of the input, not of rows
  CHECK(network.layers[2].gathers);
  CHECK(network.layers[2].output == Shape::sequence(4, 16));
  CHECK(network.layers[3].output == Shape::vector(4 * 3 / 2 + 16));
  CHECK(network.layers[3].macs == 4 * 4 * 16);
  CHECK(totals(network).divided_parameters == 1037 * 16);
  CHECK(totals(network).parameters == 5 * 16 + 16 + 22 + 1);
}

TEST_CASE("a row of each table is looked up unless told otherwise", "[models][network]")
{
  const Network network =
      network_of(R"("features": 8)", R"({"op": "tables", "hidden": 8, "rows": [10, 20]})");
  CHECK(network.layers[0].input_elements == 2 * 8);
  CHECK(network.layers[0].forward_flops.value() == 0);
  CHECK(network.layers[1].output == Shape::sequence(3, 8));
}

TEST_CASE("tables say what does not fit", "[models][network][errors]")
{
  CHECK_THAT(problem_with(R"({"op": "tables", "hidden": 5, "rows": []})"),
             Contains("/layers/0/rows") && Contains("names no table"));
  CHECK_THAT(problem_with(R"({"op": "tables", "hidden": 5, "rows": [9, 9], "lookups": [1]})"),
             Contains("/layers/0/lookups") && Contains("has 1 numbers for 2 tables"));
  CHECK_THAT(problem_with(R"({"op": "tables", "hidden": 16, "rows": [9]})"),
             Contains("needs a vector of 16 features beside the rows, got 5"));
  CHECK_THAT(problem_with(R"({"op": "tables", "hidden": 5, "rows": [0]})"), Contains("/rows/0"));
  CHECK_THAT(problem_with(R"("interact")"), Contains("put \"tables\" before it"));
}

TEST_CASE("MLPerf's recommenders have the tables and the layers that they are published with",
          "[models][network]")
{
  const NetworkTotals dot = totals(load_network("dlrm"));
  CHECK(dot.divided_parameters == 187'767'399 * std::int64_t{128});
  // 13-512-256-128 and 479-1024-1024-512-256-1.
  CHECK(dot.parameters ==
        14 * 512 + 513 * 256 + 257 * 128 + 480 * 1024 + 1025 * 1024 + 1025 * 512 + 513 * 256 + 257);
  const Network crossed = load_network("dlrm-dcnv2");
  const NetworkTotals cross = totals(crossed);
  CHECK(cross.divided_parameters == 204'184'588 * std::int64_t{128});
  CHECK(crossed.layers.front().input_elements == 214 * 128);
  // Three cross layers of rank 512 over 27 rows.
  CHECK(cross.parameters == 14 * 512 + 513 * 256 + 257 * 128 + 3 * (3456 * 512 + 513 * 3456) +
                                3457 * 1024 + 1025 * 1024 + 1025 * 512 + 513 * 256 + 257);
}

} // namespace foretrain::network_tables_test
