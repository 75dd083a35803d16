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

// A trace as PyTorch's observer writes it: tensors have ids, views share their tensor's storage.
class TracedOperators {
public:
  struct Made {
    int id = 0, storage = 0, offset = 0;
    Json shape;
  };

  Made tensor(const Json& shape) { return {++next_, next_ + 1000, 0, shape}; }
  Made view(const Made& of, const Json& shape, int offset = 0)
  {
    return {++next_, of.storage, offset, shape};
  }
  static Json told(const Made& tensor)
  {
    return Json::array({tensor.id, tensor.storage, tensor.offset, 1, 4, "cuda:0"});
  }

  // `more`: values behind the tensors. Returns the node, for what is inside of it.
  int add(const std::string& name, const std::vector<Made>& inputs,
          const std::vector<Made>& outputs, int parent = 1, const std::vector<Json>& more = {})
  {
    Json node = {{"id", ++nodes_made_}, {"name", name}, {"ctrl_deps", parent}};
    for (const auto& [side, tensors] : {std::pair{"inputs", &inputs}, {"outputs", &outputs}}) {
      node[side] = {{"values", Json::array()}, {"shapes", Json::array()}};
      for (const Made& tensor : *tensors) {
        node[side]["values"].push_back(told(tensor));
        node[side]["shapes"].push_back(tensor.shape);
      }
    }
    for (const Json& value : more) {
      node["inputs"]["values"].push_back(value);
      node["inputs"]["shapes"].push_back(Json::array());
    }
    nodes_.push_back(std::move(node));
    return nodes_made_;
  }

  // Lists of tensors behind the others.
  void add_lists(const std::string& name, const Made& input,
                 const std::vector<std::vector<Made>>& lists, const Made& output)
  {
    add(name, {input}, {output});
    Json& inputs = nodes_.back()["inputs"];
    for (const auto& list : lists) {
      inputs["values"].push_back(Json::array());
      inputs["shapes"].push_back(Json::array());
      for (const Made& tensor : list) {
        inputs["values"].back().push_back(told(tensor));
        inputs["shapes"].back().push_back(tensor.shape);
      }
    }
  }

  std::string text() const
  {
    return Json{{"schema", "1.1.1-chakra.0.0.4"}, {"pid", 1}, {"nodes", nodes_}}.dump();
  }
  ImportedGraph read() const { return read_execution(text()); }

private:
  Json nodes_ = Json::array();
  int next_ = 100;
  int nodes_made_ = 1;
};

TEST_CASE("an operand of a product that nothing computed is its weight, also through views")
{
  for (const std::string by : {"itself", "view", "copy", "matmul"}) {
    CAPTURE(by);
    TracedOperators trace;
    const auto x = trace.tensor({8, 5, 16}), rows = trace.view(x, {40, 16});
    const auto made = trace.tensor({40, 24});
    const auto w = trace.tensor(by == "view" ? Json{24, 16} : Json{16, 24});
    trace.add("aten::view", {x}, {rows});
    if (by == "matmul") {
      const int product = trace.add("aten::matmul", {x, w}, {trace.view(made, {8, 5, 24})});
      trace.add("aten::mm", {rows, w}, {made}, product);
    } else if (by == "view") {
      const auto turned = trace.view(w, {16, 24});
      trace.add("aten::t", {w}, {turned});
      trace.add("aten::mm", {x, turned}, {made});
    } else if (by == "copy") {
      const auto copy = trace.tensor({16, 24});
      const int call = trace.add("aten::contiguous", {w}, {copy});
      trace.add("aten::empty_like", {w}, {copy}, call);
      trace.add("aten::copy_", {copy, w}, {copy}, call);
      trace.add("aten::mm", {x, copy}, {made});
    } else {
      trace.add("aten::mm", {x, w}, {made});
    }
    const ImportedGraph graph = trace.read();
    REQUIRE(graph.operators.size() == 1);
    CHECK(graph.operators[0].kind == "linear");
    CHECK(graph.operators[0].gemm == std::vector<int>{1, 5, 24, 16});
    CHECK(graph.operators[0].gradients == std::vector<int>{384});
    CHECK(graph.operators[0].input_elements == 5 * 16);
    CHECK(graph.notes.size() == 2);
    CHECK_THAT(graph.notes[0], Catch::Contains("a batch of 8"));
  }
}

TEST_CASE("slices of a packed weight train it once and are multiplied each")
{
  TracedOperators trace;
  const auto x = trace.tensor({8, 16}), packed = trace.tensor({48, 16});
  for (int i = 0; i < 3; ++i) {
    const auto part = trace.view(packed, {16, 16}, 256 * i);
    const auto turned = trace.view(part, {16, 16}, 256 * i);
    trace.add("aten::slice", {packed}, {part});
    trace.add("aten::t", {part}, {turned});
    trace.add("aten::mm", {x, turned}, {trace.tensor({8, 16})});
  }
  const ImportedGraph graph = trace.read();
  REQUIRE(graph.operators.size() == 3);
  for (const OperatorSpec& one : graph.operators)
    CHECK(one.gemm == std::vector<int>{1, 1, 16, 16});
  CHECK(graph.operators[0].gradients == std::vector<int>{768});
  CHECK(graph.operators[1].gradients.empty());
  CHECK(graph.operators[2].gradients.empty());
}

TEST_CASE("two weights in one storage are two, and one in a storage that is used again is another")
{
  TracedOperators trace;
  auto x = trace.tensor({8, 16});
  const auto first = trace.tensor({16, 16}), second = trace.view(first, {16, 16}, 256);
  for (const auto& w : {first, second, first}) {
    const auto y = trace.tensor({8, 16});
    trace.add("aten::linear", {x, w}, {y});
    x = y;
  }
  const auto gathered = trace.tensor({16, 16});
  for (int i = 0; i < 2; ++i) { // as a framework does that gathers each layer's weights
    const auto y = trace.tensor({8, 16});
    trace.add("c10d::_allgather_base_", {}, {gathered});
    trace.add("aten::linear", {x, gathered}, {y});
    x = y;
  }
  const ImportedGraph graph = trace.read();
  REQUIRE(graph.operators.size() == 5);
  for (const std::size_t i : std::vector<std::size_t>{0, 1, 3, 4})
    CHECK(graph.operators[i].gradients == std::vector<int>{256});
  CHECK(graph.operators[2].gradients.empty());
}

TEST_CASE("products of what the step computed have no weights")
{
  TracedOperators trace;
  const auto x = trace.tensor({8, 4, 10, 16}), w = trace.tensor({16, 16});
  const auto q = trace.tensor({8, 4, 10, 16}), turned = trace.view(q, {8, 4, 16, 10});
  trace.add("aten::linear", {x, w}, {q});
  trace.add("aten::transpose", {q}, {turned});
  trace.add("aten::matmul", {q, turned}, {trace.tensor({8, 4, 10, 10})});
  // Frequencies times positions: a vector is no matrix of weights.
  const auto frequencies = trace.tensor({1, 8, 1}), positions = trace.tensor({1, 1, 10});
  trace.add("aten::arange", {}, {positions});
  trace.add("aten::matmul", {frequencies, positions}, {trace.tensor({1, 8, 10})});
  // A weight in front of each sample's columns.
  trace.add("aten::matmul", {w, turned}, {trace.tensor({8, 4, 16, 10})});
  const ImportedGraph graph = trace.read();
  REQUIRE(graph.operators.size() == 4);
  CHECK(graph.operators[1].kind == "attention");
  CHECK(graph.operators[1].gemm == std::vector<int>{4, 10, 10, 16});
  CHECK(graph.operators[1].gradients.empty());
  CHECK(graph.operators[2].gradients.empty());
  CHECK(graph.operators[3].kind == "linear");
  CHECK(graph.operators[3].gemm == std::vector<int>{1, 40, 16, 16});
}

TEST_CASE("a transposed convolution meets its kernel at each input position")
{
  const int stride = GENERATE(1, 2, 4);
  const std::string name = GENERATE("aten::convolution", "aten::conv_transpose2d");
  CAPTURE(stride, name);
  TracedOperators trace;
  const Json strides = {stride, stride}, none = {0, 0}, ones = {1, 1};
  const auto x = trace.tensor({8, 8, 48, 48}), w = trace.tensor({8, 3, 4, 4});
  const auto y = trace.tensor({8, 6, 47 * stride + 4, 47 * stride + 4});
  std::vector<Json> more{"<None>", strides, none, ones, true, none, 2};
  if (name == "aten::conv_transpose2d")
    more = {"<None>", strides, none, none, 2, ones};
  trace.add(name, {x, w}, {y}, 1, more);
  const ImportedGraph graph = trace.read();
  REQUIRE(graph.operators.size() == 1);
  CHECK(graph.operators[0].gemm == std::vector<int>{2, 48 * 48, 3 * 16, 4});
  CHECK(graph.operators[0].gradients == std::vector<int>{8 * 3 * 16});
  CHECK(graph.operators[0].minimal_filtering == 1);
}

TEST_CASE("minimal filtering is of recorded kernels without stride or dilation")
{
  const auto filtered = [](int stride, int dilation) {
    TracedOperators trace;
    trace.add("aten::conv2d", {trace.tensor({8, 4, 50, 50}), trace.tensor({8, 4, 3, 3})},
              {trace.tensor({8, 8, 48, 48})}, 1,
              {"<None>", Json{stride, stride}, Json{1, 1}, Json{dilation, dilation}, 1});
    return trace.read().operators.at(0).minimal_filtering;
  };
  CHECK(filtered(1, 1) == 2.25);
  CHECK(filtered(2, 1) == 1);
  CHECK(filtered(1, 2) == 1);
}

TEST_CASE("what a trace holds and nobody knows is told by name, and bookkeeping is not")
{
  TracedOperators trace;
  auto x = trace.tensor({8, 16});
  const auto y = trace.tensor({8, 16}), z = trace.tensor({8, 16});
  trace.add("aten::linear", {x, trace.tensor({16, 16})}, {y});
  for (const char* name : {"aten::detach", "aten::view", "aten::to", "c10d::broadcast_",
                           "profiler::_record_function_enter_new", "ProfilerNote"})
    trace.add(name, {y}, {trace.view(y, {8, 16})});
  for (int i = 0; i < 2; ++i) {
    const int outer = trace.add("aten::fft_fft2", {y}, {z});
    trace.add("aten::_fft_r2c", {y}, {z}, outer);
  }
  trace.add("torchvision::nms", {y}, {z});
  trace.add("torch::autograd::Note", {y}, {z});
  const int wrapper = trace.add("other::layer", {y}, {z});
  trace.add("aten::relu", {y}, {z}, wrapper);
  trace.add("aten::linalg_svd", {y}, {z}, wrapper);
  const int optimizer = trace.add("Optimizer.step#SGD.step", {}, {});
  trace.add("aten::_foreach_add_", {y}, {}, optimizer);
  const ImportedGraph graph = trace.read();
  CHECK(graph.operators.size() == 2);
  REQUIRE(graph.notes.size() == 5);
  CHECK_THAT(graph.notes[2], Catch::Contains("2 aten::fft_fft2 left out"));
  CHECK_THAT(graph.notes[3], Catch::Contains("1 aten::linalg_svd left out"));
  CHECK_THAT(graph.notes[4], Catch::Contains("1 torchvision::nms left out"));
}

TEST_CASE("a recurrent layer that nothing inside of it tells is refused with its weights")
{
  TracedOperators trace;
  const auto x = trace.tensor({20, 8, 16}), y = trace.tensor({20, 8, 32});
  const std::vector<TracedOperators::Made> state{trace.tensor({1, 8, 32}),
                                                 trace.tensor({1, 8, 32})};
  const std::vector<TracedOperators::Made> weights{trace.tensor({128, 16}), trace.tensor({128, 32}),
                                                   trace.tensor({128}), trace.tensor({128})};
  trace.add_lists("aten::lstm", x, {state, weights}, y);
  CHECK_THAT(execution_problem(trace.text()),
             Catch::Contains("aten::lstm (node 2) holds 6400 weights"));
  trace.add("aten::linear", {y, trace.tensor({10, 32})}, {trace.tensor({20, 8, 10})});
  CHECK_THAT(execution_problem(trace.text()),
             Catch::Contains("aten::lstm (node 2) holds 6400 weights"));
  trace.add("aten::linear", {x, weights[0]}, {trace.tensor({20, 8, 128})}, 2); // as on a CPU
  CHECK(trace.read().operators.size() == 2);
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
  TracedOperators trace;
  const auto x = trace.tensor({8, 16}), w = trace.tensor({24, 16});
  const auto turned = trace.view(w, {16, 24}), y = trace.tensor({8, 24});
  trace.add("aten::t", {w}, {turned}, trace.add("other::layer", {x}, {y}));
  trace.add("aten::mm", {x, turned}, {y}, 2);
  trace.add_lists("aten::other", x, {{x, w}, {w}}, y);
  const std::string whole = GENERATE_COPY(MadeExecution().text(), trace.text());
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
