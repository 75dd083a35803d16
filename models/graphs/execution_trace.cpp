#include "models/graphs/execution_trace.hpp"

#include "models/graphs/aten_names.hpp"
#include "models/graphs/traced_step.hpp"
#include "sim/base/error.hpp"
#include "sim/base/json.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

constexpr int kDeepest = 256; // of nested operators

// `backward`: of what is no work of the forward pass. DDP packs buffers that it broadcasts.
TraceMark mark_of(const std::string& name)
{
  if (name.starts_with("ProfilerStep"))
    return TraceMark::step;
  if (name.find("autograd::engine") != std::string::npos || name.starts_with("## backward") ||
      name.starts_with("Optimizer.") || name.starts_with("## optimizer") ||
      name.starts_with("enumerate(DataLoader)") || name == "aten::flatten_dense_tensors" ||
      (name.find("Backward") != std::string::npos && name.find("::") == std::string::npos))
    return TraceMark::backward;
  if (name == "record_param_comms")
    return TraceMark::exchange;
  return known_operator(name)       ? TraceMark::known
         : computes_something(name) ? TraceMark::unknown
                                    : TraceMark::none;
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

// Of "inputs" or "outputs": their "values" or "shapes". Schema 1.0 has "inputs", "input_shapes".
const Json& listed(const Json& node, const std::string& side, const char* what)
{
  static const Json kNone = Json::array();
  const bool values = std::string(what) == "values";
  const Json* list = nullptr;
  if (node.contains(side) && node[side].is_object())
    list = node[side].contains(what) ? &node[side][what] : nullptr;
  else if (const std::string flat = values ? side : side.substr(0, side.size() - 1) + "_shapes";
           node.contains(flat))
    list = &node[flat];
  return list != nullptr && list->is_array() ? *list : kNone;
}

// A list of tensors counts as no shape.
std::vector<AtenShape> shapes_of(const Json& node, const char* side)
{
  std::vector<AtenShape> shapes;
  for (const Json& one : listed(node, side, "shapes"))
    shapes.push_back(shape_of(one));
  return shapes;
}

// [tensor, storage, offset, elements, bytes of one, device].
TracedTensor tensor_of(const Json& value, const Json& shape)
{
  TracedTensor tensor;
  tensor.shape = shape_of(shape);
  if (!value.is_array() || value.size() < 6 || !value[0].is_number() || !value[5].is_string())
    return tensor;
  tensor.id = number(value[0]);
  tensor.storage = number(value[1]);
  tensor.offset = number(value[2], 0);
  tensor.device = value[5].get<std::string>();
  return tensor;
}

// One for each of a node's inputs or outputs; those of lists to `in_lists`.
std::vector<TracedTensor> tensors_of(const Json& node, const char* side,
                                     std::vector<TracedTensor>& in_lists)
{
  static const Json kNone;
  const Json& values = listed(node, side, "values");
  const Json& shapes = listed(node, side, "shapes");
  std::vector<TracedTensor> tensors;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Json& shape = i < shapes.size() ? shapes[i] : kNone;
    tensors.push_back(tensor_of(values[i], shape));
    if (!values[i].is_array())
      continue;
    for (std::size_t k = 0; k < values[i].size() && tensors.back().id < 0; ++k)
      if (TracedTensor one =
              tensor_of(values[i][k], shape.is_array() && k < shape.size() ? shape[k] : kNone);
          one.id >= 0)
        in_lists.push_back(std::move(one));
  }
  return tensors;
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
    TracedNode kept;
    kept.mark = mark_of(name);
    for (const char* key : {"ctrl_deps", "parent"})
      if (node.contains(key) && node[key].is_number_integer()) {
        kept.parent = node[key].get<std::int64_t>();
        break;
      }
    if (const auto above = nodes_.find(kept.parent); above != nodes_.end() &&
                                                     above->second.mark == TraceMark::backward &&
                                                     kept.mark != TraceMark::exchange)
      kept.mark = TraceMark::backward;
    if (kept.mark == TraceMark::exchange ||
        (kept.mark != TraceMark::backward && name.find("::") != std::string::npos))
      kept.call = add_call(node, id, name);
    if (kept.mark == TraceMark::step)
      steps_.push_back(id);
    nodes_[id] = kept;
  }

  ImportedGraph import(std::optional<int> batch)
  {
    if (nodes_.empty())
      throw ConfigError(path_, "", "holds no nodes");
    std::vector<const TracedCall*> forward = forward_calls();
    const std::vector<const TracedCall*> unknown = follow_step(nodes_, calls_, step_);
    check_recurrent(unknown);
    if (forward.empty())
      throw ConfigError(path_, "", "holds no operator with shapes whose cost is known",
                        "expected what torch.profiler's ExecutionTraceObserver writes");
    std::map<std::string, int> left_out;
    for (const TracedCall* call : unknown)
      ++left_out[call->call.name];
    batch_ = batch ? *batch : batch_of(forward);
    ImportedGraph graph;
    std::set<std::tuple<double, int, double>> counted;
    for (const TracedCall* call : forward) {
      auto operators = operators_of(call->call, batch_);
      if (operators.empty() && !is_of_scalars(call->call))
        ++left_out[call->call.name];
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
    for (const auto& [name, count] : left_out)
      graph.notes.push_back(
          fmt::format("{} {} left out: its cost or its shape is not known", count, name));
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
    const Json& values = listed(node, "inputs", "values");
    call.inputs = tensors_of(node, "inputs", call.listed);
    std::vector<TracedTensor> outputs;
    call.outputs = tensors_of(node, "outputs", outputs);
    call.outputs.insert(call.outputs.end(), outputs.begin(), outputs.end());
    if (name.find("conv") != std::string::npos && values.size() > 6)
      set_window(values, call.call);
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

  // conv2d(input, weight, bias, stride, padding, dilation, groups), conv_transpose2d(.., stride,
  // padding, output_padding, groups, dilation), convolution(.., stride, padding, dilation,
  // transposed, output_padding, groups).
  static void set_window(const Json& values, AtenCall& call)
  {
    const bool turned = call.name.find("conv_transpose") != std::string::npos;
    const bool any = call.name.ends_with("convolution") && values.size() > 8;
    call.stride = shape_of(values[3]);
    call.dilation = shape_of(turned && values.size() > 7 ? values[7] : values[5]);
    call.transposed = turned || (any && values[6] == true);
    call.groups = std::max(1.0, number(any ? values[8] : values[6], 1));
  }

  // As for ONNX: most of what a network is would be left out with it.
  void check_recurrent(const std::vector<const TracedCall*>& unknown) const
  {
    for (const TracedCall* call : unknown)
      if (const double held = recurrent_weights(*call); held > 0)
        throw ConfigError(
            path_, "",
            fmt::format("{} (node {}) holds {:.0f} weights, and what it computes is "
                        "not known here",
                        call->call.name, call->id, held),
            "record a profile of the step instead (docs/traces.md), which tells times");
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
      if (above->second.mark == TraceMark::known || above->second.mark == TraceMark::backward ||
          above->second.mark == TraceMark::exchange)
        return false;
      if (above->second.mark == TraceMark::step)
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
      if (node.mark != TraceMark::known)
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

  // Products tell it only where no layer does: their rows may be those of all samples.
  static double batch_of(const std::vector<const TracedCall*>& calls)
  {
    double of_products = 1;
    for (const TracedCall* call : calls) {
      const AtenCall& made = call->call;
      const auto weights = weight_inputs(made);
      const std::size_t input = weights.empty() || weights.front() != 0 ? 0 : 1;
      if (weights.empty() || input >= made.inputs.size() || made.inputs[input].empty() ||
          made.inputs[input][0] < 1)
        continue;
      if (!made.kept.empty() && is_product(made.name)) {
        // [..., k, samples] behind a weight in front
        const AtenShape& shape = made.inputs[input];
        const double rows =
            input == 1 && shape.size() == 2 && made.name.find("add") == std::string::npos
                ? shape.back()
                : shape[0];
        of_products = of_products > 1 ? of_products : rows;
        continue;
      }
      return made.inputs[input][0];
    }
    return of_products;
  }

  // Of a view all of its weight, once for all operators that take the weight or views of it.
  static std::vector<int> gradients(const TracedCall& call,
                                    std::set<std::tuple<double, int, double>>& counted)
  {
    std::vector<int> sizes;
    for (const std::size_t input : weight_inputs(call.call)) {
      if (input >= call.call.inputs.size() || call.call.inputs[input].empty())
        continue;
      const auto root = input < call.roots.size() ? call.roots[input] : std::nullopt;
      if (root && !counted.insert(root->key).second)
        continue;
      sizes.push_back(gradient_elements(root ? root->elements : elements(call.call.inputs[input])));
    }
    return sizes;
  }

  void tell_exchanges(std::vector<std::string>& notes) const
  {
    std::map<std::string, std::pair<int, double>> kinds;
    for (const auto& [id, node] : nodes_) {
      if (node.mark != TraceMark::exchange || node.call < 0)
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
  TracedNodes nodes_;
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
