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
  const std::string whole = onnx_model(small_graph());
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
