// PyTorch's execution traces: shapes of the forward pass of one step.
#include "models/graphs/aten_operator.hpp"
#include "models/graphs/execution_trace.hpp"
#include "models/networks/network.hpp"
#include "sim/base/error.hpp"

#include "tests/models/traces/kineto_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fuzzing.hpp"
#include "tests/support/problem.hpp"

namespace foretrain::test::execution_trace_test {
namespace {

using namespace models;

// Two steps of conv (with the operators inside of it) - relu - linear, and backward of the linear.
class MadeExecution {
public:
  MadeExecution()
  {
    for (int s = 0; s < 2; ++s) {
      const int step = add("ProfilerStep#" + std::to_string(s), 1, Json::array(), Json::array());
      const int conv = add("aten::conv2d", step, {{8, 3, 32, 32}, {16, 3, 3, 3}, Json::array()},
                           {{8, 16, 32, 32}}, 100);
      add("aten::convolution", conv, {{8, 3, 32, 32}, {16, 3, 3, 3}}, {{8, 16, 32, 32}}, 100);
      add("aten::relu_", step, {{8, 16, 32, 32}}, {{8, 16, 32, 32}}, 200);
      add("aten::linear", step, {{8, 16384}, {10, 16384}, {10}}, {{8, 10}}, 300);
      const int back = add("autograd::engine::evaluate_function: AddmmBackward0", step,
                           Json::array(), Json::array());
      add("aten::mm", back, {{8, 10}, {10, 16384}}, {{8, 16384}}, 400);
    }
  }
  std::string text() const
  {
    return Json{{"schema", "1.1.0-chakra.0.0.4"}, {"pid", 1}, {"nodes", nodes_}}.dump();
  }

private:
  int add(const std::string& name, int parent, const Json& inputs, const Json& outputs,
          int storage = 0)
  {
    Json values = Json::array();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      values.push_back(Json::array({1, storage + static_cast<int>(i), 0, 1, 4, "cuda:0"}));
    if (name == "aten::conv2d") {
      values.push_back({1, 1}); // stride, padding, dilation, groups
      values.push_back({1, 1});
      values.push_back({1, 1});
      values.push_back(1);
    }
    nodes_.push_back({{"id", ++id_},
                      {"name", name},
                      {"ctrl_deps", parent},
                      {"inputs", {{"values", values}, {"shapes", inputs}}},
                      {"outputs", {{"values", Json::array()}, {"shapes", outputs}}}});
    return id_;
  }

  Json nodes_ = Json::array();
  int id_ = 1;
};

ImportedGraph read_execution(const std::string& text)
{
  const TemporaryFile file(text);
  return import_execution_trace(file.path());
}

std::string execution_problem(const std::string& text)
{
  return problem_of([&] { read_execution(text); });
}

TEST_CASE("one forward pass is taken, each operator once, per sample")
{
  const ImportedGraph graph = read_execution(MadeExecution().text());
  REQUIRE(graph.operators.size() == 3);
  CHECK(graph.operators[0].gemm == std::vector<int>{1, 1024, 16, 27});
  CHECK(graph.operators[0].gradients == std::vector<int>{432});
  CHECK(graph.operators[0].minimal_filtering > 1);
  CHECK(graph.operators[1].kind == "elementwise");
  CHECK(graph.operators[1].output_elements == 16384);
  CHECK(graph.operators[2].gemm == std::vector<int>{1, 1, 10, 16384});
  CHECK(graph.operators[2].gradients == std::vector<int>{163840, 10});
  CHECK_THAT(graph.notes[0], Catch::Contains("recorded with a batch of 8"));
  const Network network =
      load_network(Value(parse_document(graph_json(graph, "made", "test").dump(), "made.json")));
  CHECK(totals(network).parameters == 432 + 163850);
}

TEST_CASE("a product that adds a vector has weights, one that adds a matrix has none")
{
  const auto weights = [](const AtenShape& added) {
    return weight_inputs({"aten::addmm", {added, {64, 512}, {512, 256}}, {{64, 256}}, {}, 1});
  };
  CHECK(weights({256}) == std::vector<std::size_t>{0, 2});
  CHECK(weights({64, 256}).empty());
  std::string text = MadeExecution().text();
  const std::string linear = "[[8,16384],[10,16384],[10]]";
  for (auto at = text.find(linear); at != std::string::npos; at = text.find(linear))
    text.replace(at, linear.size(), "[[10],[8,16384],[16384,10]]");
  for (auto at = text.find("aten::linear"); at != std::string::npos; at = text.find("aten::linear"))
    text.replace(at, 12, "aten::addmm");
  const ImportedGraph graph = read_execution(text);
  CHECK(graph.operators[2].gemm == std::vector<int>{1, 1, 10, 16384});
  CHECK(graph.operators[2].gradients == std::vector<int>{10, 163840});
}

TEST_CASE("what an execution trace does not tell is one clear line")
{
  CHECK_THAT(execution_problem("{\"schema\": \"1.1\", \"nodes\": []}"),
             Catch::Contains("holds no nodes"));
  CHECK_THAT(execution_problem("{\"schema\": \"1.1\", \"nodes\": [{\"id\": 1, \"name\": \"a\"}]}"),
             Catch::Contains("no operator with shapes"));
  const std::string whole = MadeExecution().text();
  CHECK_THAT(execution_problem(whole.substr(0, whole.size() / 2)), Catch::Contains("cut off"));
  CHECK(looks_like_execution_trace(whole));
}

TEST_CASE("damaged execution traces never end in anything but a ConfigError", "[fuzz]")
{
  const std::string whole = MadeExecution().text();
  Damage damage;
  const int runs = fuzz_runs(1000);
  int read_anyway = 0;
  for (int i = 0; i < runs; ++i)
    try {
      const auto graph = read_execution(damage.to(whole));
      load_network(Value(parse_document(graph_json(graph, "made", "test").dump(), "made.json")));
      ++read_anyway;
    } catch (const ConfigError&) {
    }
  CHECK(read_anyway > 0);
  CHECK(read_anyway < runs);
}

} // namespace
} // namespace foretrain::test::execution_trace_test
