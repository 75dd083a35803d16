#include "models/networks/network_builder.hpp"

#include "sim/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

// Far above any real network; low enough that a bad file fails in a second.
constexpr int kMaxLayers = 100'000;
constexpr int kMaxNesting = 24;
constexpr double kMaxElements = 1099511627776.0; // 2^40: sums over all layers stay exact in 64 bits

const char* form_name(Shape::Form form)
{
  switch (form) {
  case Shape::Form::image:
    return "an image";
  case Shape::Form::ids:
    return "token ids";
  case Shape::Form::sequence:
    return "a sequence";
  case Shape::Form::vector:
    return "a vector";
  case Shape::Form::none:
    break;
  }
  return "nothing";
}

} // namespace

NetworkBuilder::NetworkBuilder(const Shape& input, LayerDefaults defaults, BuildOp build_op)
    : shape_(input), defaults_(std::move(defaults)), build_op_(build_op)
{
}

void NetworkBuilder::walk(const Value& list, bool may_be_empty)
{
  if (!list.json().is_array())
    list.fail("must be a list of layers, got " + list.shown());
  if (list.json().empty() && !may_be_empty)
    list.fail("must not be empty");
  if (depth_ == kMaxNesting)
    list.fail(fmt::format("nests layers deeper than {} levels", kMaxNesting));
  ++depth_;
  for (std::size_t i = 0; i < list.json().size(); ++i)
    apply(list.at(i));
  --depth_;
}

Shape NetworkBuilder::walk_path(const Shape& input, const Value& list, bool may_be_empty)
{
  const bool other_paths = trained_;
  go_back_to(input);
  walk(list, may_be_empty);
  trained_ = trained_ || other_paths;
  if (shape_.form == Shape::Form::none)
    list.fail("ends in 'heads', which leaves nothing to join", "'heads' can only end the network");
  return shape_;
}

Shape NetworkBuilder::walk_aside(const Value& at, const std::string& name, const Shape& input,
                                 const Value& layers, Shape::Form form, const char* words)
{
  const Scope scope(*this, name);
  const Shape flows = shape_;
  const bool trained = std::exchange(trained_where_scope_began_, false);
  const Shape made = walk_path(input, layers, false);
  if (made.form != form)
    at.fail_at("layers", fmt::format("must end in {}, not in {}", words, made.text()));
  shape_ = flows;
  trained_ = trained;
  return made;
}

void NetworkBuilder::apply(const Value& item)
{
  step(item);
  const Json& json = item.json();
  const bool is_word = json.is_string();
  if (!is_word && !(json.is_object() && json.contains("op")))
    item.fail(
        "must be a layer like \"relu\" or {\"op\": \"conv\", \"out\": 64, \"kernel\": 3}, got " +
        item.shown());
  const Value op = is_word ? item : item.at("op");
  if (!op.json().is_string())
    op.fail("must be a text, got " + op.shown());
  if (shape_.form == Shape::Form::none)
    item.fail("comes after 'heads', which ends the network");

  const Json object = is_word ? Json::object({{"op", json}}) : Json();
  build_op_(*this, op, is_word ? item.meaning(object) : item);
}

void NetworkBuilder::step(const Value& at)
{
  if (++steps_ > kMaxLayers)
    at.fail(fmt::format("makes the network larger than {} layers", kMaxLayers));
}

void NetworkBuilder::need(const Value& at, std::initializer_list<Shape::Form> forms,
                          const char* hint)
{
  if (std::find(forms.begin(), forms.end(), shape_.form) != forms.end())
    return;
  std::vector<std::string> names;
  for (const Shape::Form form : forms)
    names.emplace_back(form_name(form));
  at.fail(fmt::format("needs {}, but what arrives here is {} ({})", joined(names, " or "),
                      form_name(shape_.form), shape_.text()),
          hint);
}

void NetworkBuilder::check_size(const Value& at, const char* what, double elements)
{
  if (elements > kMaxElements)
    at.fail(fmt::format("has {:.3g} {}, more than the {:.3g} that are accepted", elements, what,
                        kMaxElements));
}

void NetworkBuilder::emit(const Value& at, const std::string& op, const std::string& name,
                          Layer layer)
{
  if (layers_.size() == static_cast<std::size_t>(kMaxLayers))
    at.fail(fmt::format("makes the network larger than {} layers", kMaxLayers));
  if (frozen_)
    layer = frozen_layer(std::move(layer));
  layer.op = op;
  layer.name = unique_name(op, name);
  layer.input_gradient = trained_;
  trained_ = trained_ || (layer.trained && layer.parameters + layer.divided_parameters > 0);
  shape_ = layer.output;
  layers_.push_back(std::move(layer));
}

void NetworkBuilder::concat(const Value& at, const std::string& name,
                            const std::vector<Shape>& parts)
{
  const Shape& first = parts.front();
  if (first.form == Shape::Form::ids)
    at.fail("cannot concatenate token ids", "put an embedding first");
  Shape sum = first.with_features(0);
  for (const Shape& part : parts) {
    if (part.with_features(0) != first.with_features(0))
      at.fail(fmt::format("cannot concatenate {} with {}: only the number of {} may differ",
                          first.text(), part.text(),
                          first.form == Shape::Form::image ? "channels" : "features"));
    sum.features += part.features;
  }
  check_size(at, "elements",
             static_cast<double>(sum.features) * static_cast<double>(sum.positions()));
  emit(at, "concat", name, copy_layer(sum));
}

bool NetworkBuilder::has_table(std::int64_t at_least_rows, std::int64_t hidden) const
{
  return std::any_of(tables_.begin(), tables_.end(), [&](const auto& table) {
    return table.first >= at_least_rows && table.second == hidden;
  });
}

bool NetworkBuilder::has_conv(const Layer& layer) const
{
  return std::find(convs_.begin(), convs_.end(), layer.gradient_tensors) != convs_.end();
}

void NetworkBuilder::walk_frozen(const Value& list)
{
  const auto trains = [](const Layer& layer) { return layer.parameters > 0; };
  if (std::any_of(layers_.begin(), layers_.end(), trains))
    list.fail("comes after layers that are trained, whose gradients would pass through it",
              "frozen layers stand first");
  frozen_ = true;
  walk(list);
  frozen_ = false;
}

std::string NetworkBuilder::unique_name(const std::string& op, const std::string& name)
{
  const std::string wanted =
      name.empty() ? fmt::format("{}{}{}", prefix_, op, ++numbers_[prefix_ + op]) : prefix_ + name;
  std::string chosen = wanted;
  while (used_names_.contains(chosen))
    chosen = fmt::format("{}_{}", wanted, ++used_names_[wanted]);
  used_names_[chosen] = 1;
  return chosen;
}

NetworkBuilder::Scope::Scope(NetworkBuilder& builder, const std::string& name)
    : builder_(builder), length_(builder.prefix_.size()),
      outside_(std::exchange(builder.trained_where_scope_began_, builder.trained_))
{
  if (!name.empty())
    builder_.prefix_ += name + ".";
}

} // namespace foretrain::models
