#include "models/graphs/onnx_shapes.hpp"

#include <algorithm>
#include <set>

namespace foretrain::models {

namespace {

constexpr std::int64_t kLargestDimension = 1'000'000'000'000;

std::int64_t bounded(std::int64_t size)
{
  return std::clamp<std::int64_t>(size, 1, kLargestDimension);
}

std::int64_t integer(const OnnxNode& node, const char* name, std::int64_t otherwise)
{
  const auto found = node.integers.find(name);
  return found == node.integers.end() ? otherwise : found->second;
}

class Inference {
public:
  explicit Inference(OnnxFile& file) : file_(file) {}

  void run()
  {
    for (const OnnxNode& node : file_.nodes) {
      if (node.outputs.empty() || file_.shapes.count(node.outputs.front()) > 0)
        continue;
      OnnxShape shape;
      if (node.op == "Split")
        split(node);
      else if (rule(node, shape))
        file_.shapes[node.outputs.front()] = std::move(shape);
    }
  }

private:
  const OnnxShape* shape(const OnnxNode& node, std::size_t input) const
  {
    if (input >= node.inputs.size())
      return nullptr;
    const auto found = file_.shapes.find(node.inputs[input]);
    return found == file_.shapes.end() ? nullptr : &found->second;
  }
  const std::vector<std::int64_t>* values(const OnnxNode& node, std::size_t input) const
  {
    if (input >= node.inputs.size())
      return nullptr;
    const auto found = file_.values.find(node.inputs[input]);
    return found == file_.values.end() || found->second.empty() ? nullptr : &found->second;
  }

  bool rule(const OnnxNode& node, OnnxShape& out) const
  {
    const OnnxShape* in = shape(node, 0);
    if (in == nullptr)
      return false;
    const std::string& op = node.op;
    if (op == "Conv")
      return shape(node, 1) != nullptr && window(node, *in, shape(node, 1), out);
    if (op == "MaxPool" || op == "AveragePool")
      return window(node, *in, nullptr, out);
    if (op == "GlobalAveragePool" || op == "GlobalMaxPool") {
      out = *in;
      for (std::size_t i = 2; i < out.size(); ++i)
        out[i] = 1;
      return true;
    }
    if (op == "Gemm" || op == "MatMul")
      return product(node, *in, out);
    if (op == "ConstantOfShape") {
      const auto* sizes = values(node, 0);
      if (sizes != nullptr)
        out = *sizes;
      return sizes != nullptr;
    }
    if (op == "Flatten") {
      const auto axis = static_cast<std::size_t>(std::clamp<std::int64_t>(
          integer(node, "axis", 1), 0, static_cast<std::int64_t>(in->size())));
      const auto middle = in->begin() + static_cast<std::ptrdiff_t>(axis);
      out = {bounded(static_cast<std::int64_t>(elements_of({in->begin(), middle}))),
             bounded(static_cast<std::int64_t>(elements_of({middle, in->end()})))};
      return true;
    }
    if (op == "Reshape")
      return reshape(node, *in, out);
    if (op == "Transpose")
      return transpose(node, *in, out);
    if (op == "Squeeze" || op == "Unsqueeze")
      return squeeze(node, *in, out);
    if (op == "Slice")
      return slice(node, *in, out);
    if (op == "Concat")
      return concat(node, *in, out);
    if (op == "Gather")
      return gather(node, *in, out);
    if (op == "ReduceMean" && integer(node, "keepdims", 1) == 1 && node.lists.count("axes") > 0) {
      out = *in;
      for (const std::int64_t axis : node.lists.at("axes"))
        if (const auto i = place(axis, in->size()); i < in->size())
          out[i] = 1;
      return true;
    }
    return broadcast(node, out);
  }

  static std::size_t place(std::int64_t axis, std::size_t rank)
  {
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
  }

  static bool window(const OnnxNode& node, const OnnxShape& in, const OnnxShape* weights,
                     OnnxShape& out)
  {
    if (in.size() < 3 || (weights != nullptr && weights->size() != in.size()))
      return false;
    out = windowed(node, in, weights);
    return true;
  }

  bool product(const OnnxNode& node, const OnnxShape& in, OnnxShape& out) const
  {
    const OnnxShape* other = shape(node, 1);
    if (other == nullptr || in.size() < 2 || other->size() < 2)
      return false;
    if (node.op == "Gemm") {
      out = {in[integer(node, "transA", 0) == 1 ? 1 : 0],
             (*other)[integer(node, "transB", 0) == 1 ? 0 : 1]};
      return true;
    }
    out = in.size() >= other->size() ? in : *other;
    const OnnxShape& fewer = in.size() >= other->size() ? *other : in;
    for (std::size_t i = 3; i <= fewer.size(); ++i)
      out[out.size() - i] = std::max(out[out.size() - i], fewer[fewer.size() - i]);
    out[out.size() - 2] = in[in.size() - 2];
    out.back() = other->back();
    return true;
  }

  bool reshape(const OnnxNode& node, const OnnxShape& in, OnnxShape& out) const
  {
    const auto* wanted = values(node, 1);
    if (wanted == nullptr)
      return false;
    double known = 1;
    std::size_t open = wanted->size();
    for (std::size_t i = 0; i < wanted->size(); ++i) {
      std::int64_t size = (*wanted)[i];
      if (size == 0)
        size = i < in.size() ? in[i] : 1;
      if (size < 0)
        open = i;
      else
        known *= static_cast<double>(size);
      out.push_back(size);
    }
    if (open < out.size())
      out[open] = bounded(
          static_cast<std::int64_t>(std::min(1e12, elements_of(in) / std::max(1.0, known))));
    return true;
  }

  static bool transpose(const OnnxNode& node, const OnnxShape& in, OnnxShape& out)
  {
    const auto order = node.lists.find("perm");
    if (order == node.lists.end()) {
      out.assign(in.rbegin(), in.rend());
      return true;
    }
    for (const std::int64_t axis : order->second) {
      if (place(axis, in.size()) >= in.size())
        return false;
      out.push_back(in[place(axis, in.size())]);
    }
    return true;
  }

  // What an attribute tells, or an input in newer files; null: neither.
  const std::vector<std::int64_t>* told(const OnnxNode& node, const char* name,
                                        std::size_t input) const
  {
    const auto found = node.lists.find(name);
    return found != node.lists.end() ? &found->second : values(node, input);
  }

  bool squeeze(const OnnxNode& node, const OnnxShape& in, OnnxShape& out) const
  {
    const bool adds = node.op == "Unsqueeze";
    const auto* axes = told(node, "axes", 1);
    if (axes == nullptr && (adds || node.inputs.size() > 1))
      return false;
    std::set<std::size_t> places;
    const std::size_t rank = in.size() + (adds ? axes->size() : 0);
    for (std::size_t i = 0; axes == nullptr && i < rank; ++i)
      if (in[i] == 1)
        places.insert(i);
    for (std::size_t i = 0; axes != nullptr && i < axes->size(); ++i)
      if (!places.insert(place((*axes)[i], rank)).second || place((*axes)[i], rank) >= rank)
        return false;
    for (std::size_t i = 0, next = 0; i < rank; ++i)
      if (adds)
        out.push_back(places.contains(i) ? 1 : in[next++]);
      else if (!places.contains(i))
        out.push_back(in[i]);
    return true;
  }

  bool slice(const OnnxNode& node, const OnnxShape& in, OnnxShape& out) const
  {
    const auto* starts = told(node, "starts", 1);
    const auto* ends = told(node, "ends", 2);
    const auto* axes = told(node, "axes", 3);
    const auto* steps = values(node, 4);
    if (starts == nullptr || ends == nullptr || ends->size() != starts->size() ||
        (axes == nullptr ? node.inputs.size() > 3 && !node.inputs[3].empty()
                         : axes->size() != starts->size()) ||
        (steps == nullptr ? node.inputs.size() > 4 && !node.inputs[4].empty()
                          : steps->size() != starts->size()))
      return false;
    out = in;
    for (std::size_t i = 0; i < starts->size(); ++i) {
      const std::size_t axis =
          place(axes == nullptr ? static_cast<std::int64_t>(i) : (*axes)[i], in.size());
      if (axis >= in.size())
        return false;
      const std::int64_t size = bounded(in[axis]);
      const auto from_end = [size](std::int64_t at) {
        return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
      };
      const std::int64_t step = steps == nullptr ? 1 : std::min((*steps)[i], kLargestDimension);
      if (step < 1) // backwards
        return false;
      out[axis] = bounded((from_end((*ends)[i]) - from_end((*starts)[i]) + step - 1) / step);
    }
    return true;
  }

  // Equal parts where none are told.
  void split(const OnnxNode& node)
  {
    const OnnxShape* in = shape(node, 0);
    const auto* parts = told(node, "split", 1);
    if (in == nullptr || (parts == nullptr && node.inputs.size() > 1) ||
        (parts != nullptr && parts->size() != node.outputs.size()))
      return;
    const OnnxShape whole = *in;
    const std::size_t axis = place(integer(node, "axis", 0), whole.size());
    const auto count = static_cast<std::int64_t>(node.outputs.size());
    for (std::size_t i = 0; axis < whole.size() && i < node.outputs.size(); ++i) {
      OnnxShape part = whole;
      const std::int64_t each = (bounded(whole[axis]) + count - 1) / count;
      const std::int64_t left = bounded(whole[axis]) - static_cast<std::int64_t>(i) * each;
      part[axis] = bounded(parts != nullptr ? (*parts)[i] : std::min(each, left));
      file_.shapes.emplace(node.outputs[i], std::move(part));
    }
  }

  bool concat(const OnnxNode& node, const OnnxShape& in, OnnxShape& out) const
  {
    const std::size_t axis = place(integer(node, "axis", 0), in.size());
    out = in;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const OnnxShape* other = shape(node, i);
      if (other == nullptr || other->size() != in.size() || axis >= in.size())
        return false;
      out[axis] = bounded(out[axis] + (*other)[axis]);
    }
    return true;
  }

  bool gather(const OnnxNode& node, const OnnxShape& in, OnnxShape& out) const
  {
    const OnnxShape* indices = shape(node, 1);
    if (indices == nullptr || integer(node, "axis", 0) != 0 || in.empty())
      return false;
    out = *indices;
    out.insert(out.end(), in.begin() + 1, in.end());
    return true;
  }

  // Operators that work element by element, on shapes that broadcast.
  bool broadcast(const OnnxNode& node, OnnxShape& out) const
  {
    static const char* const kSameShape[] = {"Relu",
                                             "LeakyRelu",
                                             "PRelu",
                                             "Clip",
                                             "Sigmoid",
                                             "Tanh",
                                             "Gelu",
                                             "Erf",
                                             "Sqrt",
                                             "Exp",
                                             "Softmax",
                                             "Pow",
                                             "Neg",
                                             "Abs",
                                             "Dropout",
                                             "Identity",
                                             "Cast",
                                             "CastLike",
                                             "QuantizeLinear",
                                             "DequantizeLinear",
                                             "Add",
                                             "Sub",
                                             "Mul",
                                             "Div",
                                             "Where",
                                             "HardSwish",
                                             "HardSigmoid",
                                             "Elu",
                                             "Selu",
                                             "LogSoftmax",
                                             "LRN",
                                             "BatchNormalization",
                                             "LayerNormalization",
                                             "InstanceNormalization",
                                             "GroupNormalization",
                                             "Sum",
                                             "Min",
                                             "Max"};
    if (std::find(std::begin(kSameShape), std::end(kSameShape), node.op) == std::end(kSameShape))
      return false;
    const bool one = node.op == "CastLike" || node.op.ends_with("Normalization") ||
                     node.op == "Clip" || node.op == "Dropout" || node.op.ends_with("Linear");
    out = *shape(node, 0);
    for (std::size_t i = 1; !one && i < node.inputs.size(); ++i) {
      const OnnxShape* other = shape(node, i);
      if (other == nullptr)
        return false;
      if (other->size() > out.size())
        out.insert(out.begin(), other->size() - out.size(), 1);
      for (std::size_t d = 0; d < other->size(); ++d) {
        std::int64_t& size = out[out.size() - 1 - d];
        size = std::max(size, (*other)[other->size() - 1 - d]);
      }
    }
    return true;
  }

  OnnxFile& file_;
};

} // namespace

double elements_of(const OnnxShape& shape)
{
  double product = 1;
  for (const std::int64_t size : shape)
    product = std::min(1e18, product * static_cast<double>(bounded(size)));
  return product;
}

OnnxWindow window_of(const OnnxNode& node, const OnnxShape* weights, std::size_t spatial)
{
  const auto list = [&](const char* name, std::size_t count, std::int64_t otherwise,
                        std::int64_t least) {
    const auto found = node.lists.find(name);
    std::vector<std::int64_t> values(count, otherwise);
    for (std::size_t i = 0; found != node.lists.end() && i < found->second.size() && i < count; ++i)
      values[i] = std::clamp<std::int64_t>(found->second[i], least, 1'000'000);
    return values;
  };
  OnnxWindow window;
  window.kernel = list("kernel_shape", spatial, 1, 1);
  if (node.lists.count("kernel_shape") == 0 && weights != nullptr)
    for (std::size_t i = 0; i < spatial && i + 2 < weights->size(); ++i)
      window.kernel[i] = std::clamp<std::int64_t>((*weights)[i + 2], 1, 1'000'000);
  window.strides = list("strides", spatial, 1, 1);
  window.dilations = list("dilations", spatial, 1, 1);
  window.pads = list("pads", 2 * spatial, 0, 0);
  return window;
}

OnnxShape windowed(const OnnxNode& node, const OnnxShape& in, const OnnxShape* weights)
{
  const OnnxWindow w = window_of(node, weights, in.size() - 2);
  OnnxShape out{in[0], weights != nullptr ? (*weights)[0] : in[1]};
  const bool up = integer(node, "ceil_mode", 0) == 1;
  const auto padded = node.texts.find("auto_pad");
  const bool same = padded != node.texts.end() && padded->second.starts_with("SAME");
  for (std::size_t i = 0; i + 2 < in.size(); ++i) {
    const std::int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
    const std::int64_t room = in[i + 2] + w.pads[i] + w.pads[i + in.size() - 2] - reach;
    const std::int64_t steps = room + (up ? w.strides[i] - 1 : 0);
    out.push_back(
        bounded(same ? (in[i + 2] + w.strides[i] - 1) / w.strides[i] : steps / w.strides[i] + 1));
  }
  return out;
}

void infer_shapes(OnnxFile& file)
{
  Inference(file).run();
}

} // namespace foretrain::models
