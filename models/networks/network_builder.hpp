// Walks the layers of a network file and writes them down with shapes worked out.
#pragma once

#include "models/networks/layer.hpp"
#include "models/networks/network_file.hpp"

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace foretrain::models {

class NetworkBuilder {
public:
  /// Builds the layers of the op that `word` names, from its item of a list of layers.
  using BuildOp = void (*)(NetworkBuilder& builder, const Value& word, const Value& item);

  NetworkBuilder(const Shape& input, LayerDefaults defaults, BuildOp build_op);

  const Shape& shape() const { return shape_; }
  void set_shape(const Shape& shape) { shape_ = shape; }
  /// What flowed where the innermost Scope began flows again.
  void go_back_to(const Shape& shape)
  {
    shape_ = shape;
    trained_ = trained_where_scope_began_;
  }
  const LayerDefaults& defaults() const { return defaults_; }
  std::vector<Layer> take_layers() { return std::move(layers_); }

  /// Applies a list of layers to the current shape. An empty list is refused unless `may_be_empty`.
  void walk(const Value& list, bool may_be_empty = false);
  /// The same for one way through a block, from where its Scope began: what it makes must be joined
  /// later, so it cannot end in heads.
  Shape walk_path(const Shape& input, const Value& list, bool may_be_empty);

  /// Throws unless the current shape has one of the forms; `hint` says how to get there.
  void need(const Value& at, std::initializer_list<Shape::Form> forms, const char* hint = "");
  /// Throws when a tensor of so many elements is beyond any real network.
  static void check_size(const Value& at, const char* what, double elements);
  /// Appends a layer, names it `name` (or after its op, numbered) and makes its output the current
  /// shape.
  void emit(const Value& at, const std::string& op, const std::string& name, Layer layer);
  /// Concatenates shapes along channels, hidden or features.
  void concat(const Value& at, const std::string& name, const std::vector<Shape>& parts);
  /// Counts one unit of reading work; throws when there were too many.
  void step(const Value& at);

  /// Embedding tables and convolutions that later layers may be tied to.
  void add_table(std::int64_t rows, std::int64_t hidden) { tables_.emplace_back(rows, hidden); }
  bool has_table(std::int64_t at_least_rows, std::int64_t hidden) const;
  void add_conv(const Layer& layer) { convs_.push_back(layer.gradient_tensors); }
  bool has_conv(const Layer& layer) const;

  /// What a second input became, for attention to look at.
  const std::optional<Shape>& encoded() const { return encoded_; }
  void set_encoded(const Shape& shape) { encoded_ = shape; }

  /// What a second input of features became.
  const std::optional<Shape>& condition() const { return condition_; }
  void set_condition(const Shape& shape) { condition_ = shape; }

  /// Layers of `list` are not trained. Throws when one before them is.
  void walk_frozen(const Value& list);

  /// What `layers` make of an input beside what flows, which stays. Throws unless they end in
  /// `form`, said in `words`.
  Shape walk_aside(const Value& at, const std::string& name, const Shape& input,
                   const Value& layers, Shape::Form form, const char* words);

  /// Puts "name." before the names of the layers inside, while it lives; nothing when name is
  /// empty. Paths of a block begin where it began.
  class Scope {
  public:
    Scope(NetworkBuilder& builder, const std::string& name);
    ~Scope()
    {
      builder_.prefix_.resize(length_);
      builder_.trained_where_scope_began_ = outside_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

  private:
    NetworkBuilder& builder_;
    std::size_t length_;
    bool outside_;
  };

private:
  void apply(const Value& item);
  std::string unique_name(const std::string& op, const std::string& name);

  Shape shape_;
  LayerDefaults defaults_;
  BuildOp build_op_;
  std::vector<Layer> layers_;
  std::vector<std::pair<std::int64_t, std::int64_t>> tables_; // rows and width
  std::vector<std::vector<std::int64_t>> convs_;              // elements of weight and bias
  std::optional<Shape> encoded_, condition_;
  bool frozen_ = false;
  bool trained_ = false; // something that made what flows
  bool trained_where_scope_began_ = false;
  std::map<std::string, int> used_names_;
  std::map<std::string, int> numbers_; // prefix and op -> how many so far
  std::string prefix_;
  int depth_ = 0;
  int steps_ = 0;
};

} // namespace foretrain::models
