#include "models/graphs/execution_trace.hpp"

#include "models/graphs/aten_operator.hpp"
#include "sim/base/error.hpp"
#include "sim/base/json.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

constexpr int kDeepest = 256; // of nested operators

enum class Mark : unsigned char { none, known, backward, step, exchange };

struct Node {
  std::int64_t parent = -1;
  Mark mark = Mark::none;
  std::int32_t call = -1; // into the calls
};

struct TracedCall {
  std::int64_t id = 0;
  AtenCall call;
  std::vector<double> storages; // of the inputs; -1: no tensor
};

Mark mark_of(const std::string& name)
{
  if (name.starts_with("ProfilerStep"))
    return Mark::step;
  if (name.find("autograd::engine") != std::string::npos || name.starts_with("## backward") ||
      name.starts_with("Optimizer.") || name.starts_with("## optimizer") ||
      (name.find("Backward") != std::string::npos && name.find("::") == std::string::npos))
    return Mark::backward;
  if (name == "record_param_comms")
    return Mark::exchange;
  return known_operator(name) ? Mark::known : Mark::none;
}

double number(const Json& value, double otherwise = -1)
{
  return value.is_number() ? value.get<double>() : otherwise;
}

AtenShape shape_of(const Json& json)
{
  AtenShape shape;
  if (json.is_array())
    for (const Json& size : json)
      if (size.is_number())
        shape.push_back(size.get<double>());
  return shape;
}

// A list of tensors counts as its first one, with the others' elements; cat alone has such.
std::vector<AtenShape> shapes_of(const Json& node, const char* side)
{
  std::vector<AtenShape> shapes;
  const Json* list = nullptr;
  if (node.contains(side) && node[side].is_object() && node[side].contains("shapes"))
    list = &node[side]["shapes"];
  else if (const std::string flat =
               std::string(side).substr(0, std::string(side).size() - 1) + "_shapes";
           node.contains(flat)) // schema 1.0
    list = &node[flat];
  if (list == nullptr || !list->is_array())
    return shapes;
  for (const Json& one : *list)
    shapes.push_back(shape_of(one));
  return shapes;
}

const Json& values_of(const Json& node)
{
  static const Json kNone = Json::array();
  if (node.contains("inputs") && node["inputs"].is_object() && node["inputs"].contains("values") &&
      node["inputs"]["values"].is_array())
    return node["inputs"]["values"];
  return node.contains("inputs") && node["inputs"].is_array() ? node["inputs"] : kNone;
}

class TraceGraph {
public:
  explicit TraceGraph(std::string path) : path_(std::move(path)) {}

  void take(const Json& node)
  {
    if (!node.contains("id") || !node["id"].is_number_integer() || !node.contains("name") ||
        !node["name"].is_string())
      return;
    const auto id = node["id"].get<std::int64_t>();
    const std::string name = node["name"].get<std::string>();
    Node kept;
    kept.mark = mark_of(name);
    for (const char* key : {"ctrl_deps", "parent"})
      if (node.contains(key) && node[key].is_number_integer()) {
        kept.parent = node[key].get<std::int64_t>();
        break;
      }
    if (kept.mark == Mark::known || kept.mark == Mark::exchange)
      kept.call = add_call(node, id, name);
    if (kept.mark == Mark::step)
      steps_.push_back(id);
    nodes_[id] = kept;
  }

  ImportedGraph import(std::optional<int> batch)
  {
    if (nodes_.empty())
      throw ConfigError(path_, "", "holds no nodes");
    std::vector<const TracedCall*> forward = forward_calls();
    if (forward.empty())
      throw ConfigError(path_, "", "holds no operator with shapes whose cost is known",
                        "expected what torch.profiler's ExecutionTraceObserver writes");
    batch_ = batch ? *batch : batch_of(forward);
    ImportedGraph graph;
    std::set<double> counted;
    for (const TracedCall* call : forward) {
      auto operators = operators_of(call->call, batch_);
      if (operators.empty())
        continue;
      operators.back().gradients = gradients(*call, counted);
      for (OperatorSpec& one : operators) {
        one.name = fmt::format("{}.{}", one.op, graph.operators.size());
        graph.operators.push_back(std::move(one));
      }
    }
    if (graph.operators.empty())
      throw ConfigError(path_, "", "tells no shapes of its operators");
    graph.notes.push_back(graph_summary(graph) +
                          fmt::format(", recorded with a batch of {:g}", batch_));
    graph.notes.emplace_back(
        "an execution trace tells no times: they are those of the roofline, like "
        "a network's of layers");
    tell_exchanges(graph.notes);
    return graph;
  }

private:
  std::int32_t add_call(const Json& node, std::int64_t id, const std::string& name)
  {
    TracedCall call;
    call.id = id;
    call.call.name = name;
    call.call.inputs = shapes_of(node, "inputs");
    call.call.outputs = shapes_of(node, "outputs");
    const Json& values = values_of(node);
    for (const Json& value : values)
      call.storages.push_back(value.is_array() && value.size() >= 2 ? number(value[1]) : -1);
    if (name.find("conv") != std::string::npos && values.size() > 6) {
      call.call.stride = shape_of(values[3]);
      call.call.groups =
          std::max(1.0, number(values.back().is_number() ? values.back() : values[6], 1));
    }
    if (name == "record_param_comms" && values.size() > 4 && values[4].is_string())
      call.call.name = values[4].get<std::string>();
    if (name == "record_param_comms" && call.call.inputs.empty())
      call.call.inputs.emplace_back();
    if (name == "record_param_comms" && !values.empty() && values[0].is_array() &&
        !values[0].empty() && values[0][0].is_array() && values[0][0].size() >= 5)
      call.call.inputs[0] = {number(values[0][0][3], 0), number(values[0][0][4], 0)};
    calls_.push_back(std::move(call));
    return static_cast<std::int32_t>(calls_.size()) - 1;
  }

  // The marks above a node: an operator inside of another one, or of the backward pass, is none of
  // the forward pass. `step` becomes the id of the step that it is in.
  bool is_forward(std::int64_t id, std::int64_t& step) const
  {
    auto node = nodes_.find(id);
    for (int depth = 0; depth < kDeepest; ++depth) {
      if (node == nodes_.end())
        return true;
      const auto above = nodes_.find(node->second.parent);
      if (above == nodes_.end() || above == node)
        return true;
      if (above->second.mark == Mark::known || above->second.mark == Mark::backward ||
          above->second.mark == Mark::exchange)
        return false;
      if (above->second.mark == Mark::step)
        step = above->first;
      node = above;
    }
    return true;
  }

  // By step, in the order of their ids; of the first whole one.
  std::vector<const TracedCall*> forward_calls()
  {
    std::map<std::int64_t, std::vector<const TracedCall*>> by_step;
    for (const auto& [id, node] : nodes_) {
      if (node.mark != Mark::known)
        continue;
      std::int64_t step = -1;
      if (is_forward(id, step))
        by_step[step].push_back(&calls_[static_cast<std::size_t>(node.call)]);
    }
    std::vector<const TracedCall*> most;
    for (auto& [step, calls] : by_step)
      if (calls.size() > most.size()) {
        most = std::move(calls);
        step_ = step;
      }
    std::sort(most.begin(), most.end(),
              [](const TracedCall* a, const TracedCall* b) { return a->id < b->id; });
    return most;
  }

  static double batch_of(const std::vector<const TracedCall*>& calls)
  {
    for (const TracedCall* call : calls)
      if (const auto weights = weight_inputs(call->call); !weights.empty()) {
        const std::size_t input = weights.front() == 0 ? 1 : 0;
        if (input < call->call.inputs.size() && !call->call.inputs[input].empty() &&
            call->call.inputs[input][0] >= 1)
          return call->call.inputs[input][0];
      }
    return 1;
  }

  std::vector<int> gradients(const TracedCall& call, std::set<double>& counted) const
  {
    std::vector<int> sizes;
    for (const std::size_t input : weight_inputs(call.call)) {
      if (input >= call.call.inputs.size() || call.call.inputs[input].empty())
        continue;
      const double storage = input < call.storages.size() ? call.storages[input] : -1;
      if (storage >= 0 && !counted.insert(storage).second)
        continue; // a weight that several operators share
      sizes.push_back(gradient_elements(elements(call.call.inputs[input])));
    }
    return sizes;
  }

  void tell_exchanges(std::vector<std::string>& notes) const
  {
    std::map<std::string, std::pair<int, double>> kinds;
    for (const auto& [id, node] : nodes_) {
      if (node.mark != Mark::exchange || node.call < 0)
        continue;
      const AtenCall& call = calls_[static_cast<std::size_t>(node.call)].call;
      if (call.inputs[0].size() != 2) // "wait", "init"
        continue;
      auto& [count, bytes] = kinds[call.name];
      ++count;
      bytes += call.inputs[0][0] * call.inputs[0][1];
    }
    for (const auto& [kind, sum] : kinds)
      notes.push_back(
          fmt::format("{} {} of {:.4g} MB in all in {} recorded steps are not taken over: "
                      "the job's framework exchanges gradients",
                      sum.first, kind, sum.second * 1e-6, std::max<std::size_t>(1, steps_.size())));
  }

  std::string path_;
  std::map<std::int64_t, Node> nodes_;
  std::vector<TracedCall> calls_;
  std::vector<std::int64_t> steps_;
  std::int64_t step_ = -1;
  double batch_ = 1;
};

} // namespace

bool looks_like_execution_trace(const std::string& head)
{
  return head.find("\"schema\"") != std::string::npos &&
         head.find("\"nodes\"") != std::string::npos &&
         head.find("\"traceEvents\"") == std::string::npos;
}

ImportedGraph import_execution_trace(const std::filesystem::path& path, std::optional<int> batch,
                                     const Progress& progress)
{
  TextSource source(path, progress);
  TraceGraph graph(path.string());
  constexpr int kNodeDepth = 2; // root > "nodes" > node
  const auto keep = [&graph](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_end && depth == kNodeDepth) {
      graph.take(parsed);
      return false; // nothing of it stays in memory
    }
    return true;
  };
  const Json rest = Json::parse(source.stream(), keep, false);
  if (rest.is_discarded())
    throw ConfigError(
        path.string(), "",
        fmt::format("is a damaged or cut off execution trace near byte {}", source.position()));
  return graph.import(batch);
}

} // namespace foretrain::models
