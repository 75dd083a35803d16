#include "models/networks/network.hpp"

#include "models/networks/network_builder.hpp"
#include "models/networks/network_ops.hpp"

#include <algorithm>
#include <deque>

namespace foretrain::models {

namespace {

Shape input_shape(const Value& at, const InputSpec& s)
{
  const bool image = s.channels || s.height || s.width || s.depth;
  const bool sequence = s.tokens || s.hidden;
  if (image + sequence + s.features.has_value() != 1)
    at.fail("must be an image (channels, height, width, of a volume also depth), a sequence "
            "(tokens, hidden) or features");
  if (s.features)
    return Shape::vector(*s.features);
  if (sequence) {
    if (!s.tokens)
      at.fail_at("tokens", "is missing");
    if (!s.hidden)
      return Shape::ids(*s.tokens);
    const Shape shape = Shape::sequence(*s.tokens, *s.hidden);
    NetworkBuilder::check_size(at, "elements", static_cast<double>(*s.tokens) * *s.hidden);
    return shape;
  }
  const std::pair<const char*, const std::optional<int>&> parts[] = {
      {"channels", s.channels}, {"height", s.height}, {"width", s.width}};
  for (const auto& [key, size] : parts)
    if (!size)
      at.fail_at(key, "is missing");
  const int depth = s.depth.value_or(1);
  NetworkBuilder::check_size(at, "elements",
                             static_cast<double>(*s.channels) * depth * *s.height * *s.width);
  return Shape::volume(*s.channels, depth, *s.height, *s.width);
}

std::string samples_of(const Shape& input)
{
  switch (input.form) {
  case Shape::Form::image:
    return "images";
  case Shape::Form::ids:
  case Shape::Form::sequence:
    return "sequences";
  default:
    return "samples";
  }
}

std::string default_name(const Value& preset)
{
  const auto& path = preset.document()->path;
  return path.empty() || !preset.pointer().empty() ? "unnamed" : path.stem().string();
}

Network read_network(const Value& preset)
{
  auto file = read_as<NetworkFile>(preset);
  check_name(preset, file.name);
  Network network;
  if (!file.optimizer.empty())
    network.optimizer = file.optimizer;
  network.name = file.name.empty() ? default_name(preset) : file.name;
  if (!file.input && !file.measured && file.operators.empty())
    preset.fail_at("input", "is missing");
  network.input = file.input ? input_shape(preset.at("input"), *file.input) : Shape::vector(1);
  network.samples = samples_of(network.input);
  network.dataset = !file.dataset.empty()         ? file.dataset
                    : network.samples == "images" ? "imagenet"
                                                  : "wikipedia-books";
  network.dataset_named = !file.dataset.empty();
  network.work_variation = file.work_variation;

  if (file.measured) {
    if (file.layers)
      preset.fail_at("layers", "stands beside \"measured\": a model has either");
    if (file.measured->backward.empty())
      preset.at("measured").fail_at("backward", "holds no stretch");
    check_exchanges(*file.measured, preset.at("measured"));
    network.layers = measured_layers(*file.measured);
    network.measured = std::move(file.measured);
    return network;
  }
  if (!file.operators.empty()) {
    if (file.layers)
      preset.fail_at("layers", "stands beside \"operators\": a model has either");
    network.layers = operator_layers(file.operators, preset.at("operators"));
    return network;
  }
  if (!file.layers)
    preset.fail_at("layers", "is missing");
  NetworkBuilder builder(network.input, file.defaults, &build_op);
  builder.walk(file.layers);
  if (file.head)
    builder.walk(file.head);
  network.layers = builder.take_layers();
  if (network.layers.empty())
    preset.fail_at("layers", "holds no layer that computes anything");
  const bool tables = std::ranges::any_of(
      network.layers, [](const Layer& layer) { return layer.kind == LayerKind::tables; });
  if (tables && file.optimizer.empty())
    network.optimizer = "plain-sgd";
  return network;
}

// Networks read lately, the last one first: an interval asks for the same ones again and again.
class LatelyRead {
public:
  // Null where it was not read.
  const Network* find(const Value& preset)
  {
    const auto known = std::ranges::find_if(known_, [&](const Known& one) {
      return one.pointer == preset.pointer() && one.path == preset.document()->path &&
             one.json == preset.json();
    });
    if (known == known_.end())
      return nullptr;
    std::rotate(known_.begin(), known, known + 1);
    return &known_.front().network;
  }

  void keep(const Value& preset, const Network& network)
  {
    if (known_.size() == kKept)
      known_.pop_back();
    known_.push_front({preset.document()->path, preset.pointer(), preset.json(), network});
  }

private:
  static constexpr std::size_t kKept = 8; // more than the jobs of a point usually train
  struct Known {
    std::filesystem::path path; // which a network without a name is called after
    std::string pointer;
    Json json;
    Network network;
  };
  std::deque<Known> known_;
};

} // namespace

Network load_network(const Value& preset)
{
  static LatelyRead lately_read;
  if (const Network* known = lately_read.find(preset))
    return *known;
  Network network = read_network(preset);
  lately_read.keep(preset, network);
  return network;
}

Network load_network(const std::string& name_or_path)
{
  return load_network(resolve_preset(name_or_path, kNetworkKind));
}

NetworkTotals totals(const Network& network)
{
  NetworkTotals sum;
  for (const Layer& layer : network.layers) {
    sum.parameters += layer.parameters;
    sum.divided_parameters += layer.divided_parameters;
    sum.gradient_tensors += static_cast<std::int64_t>(layer.gradient_tensors.size());
    sum.macs += layer.macs;
    sum.forward_flops += layer.forward_flops;
    sum.activation_elements += layer.output_elements;
    sum.state_elements += layer.state_elements;
  }
  sum.gradient_bytes_fp32 = Bytes(4.0 * static_cast<double>(sum.parameters));
  return sum;
}

namespace {

// Where an op's keys hold layers, say so.
void refer_to_layers(Json& op)
{
  const Json layers = {{"type", "array"}, {"items", {{"$ref", "#/$defs/layer"}}}};
  for (auto& [key, property] : op["properties"].items()) {
    if (key == "then" || key == "body" || key == "main" || key == "shortcut" || key == "by" ||
        key == "layers" || key == "head")
      property.update(layers);
    else if (key == "paths")
      property.update(Json{{"type", "array"}, {"items", layers}});
  }
}

} // namespace

Json network_schema()
{
  Json schema = schema_as<NetworkFile>();
  Json words = Json::array();
  Json forms = Json::array();
  for (const Op* op : all_ops()) {
    Json object = op->schema();
    object["description"] = op->help;
    object["properties"]["op"] = {{"const", op->name}};
    refer_to_layers(object);
    if (object["required"].size() == 1) // only "op": may stand as a word
      words.push_back(op->name);
    forms.push_back(std::move(object));
  }
  forms.insert(forms.begin(), Json{{"enum", words}});
  refer_to_layers(schema);
  for (const char* op : {"conv", "linear"})
    refer_to_layers(schema["properties"]["defaults"]["properties"][op]);
  schema["$defs"] = {{"layer", {{"oneOf", forms}}}};
  return schema;
}

} // namespace foretrain::models
