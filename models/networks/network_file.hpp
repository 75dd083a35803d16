// The outside of a network file: input, defaults, and the lists of layers, still unread.
#pragma once

#include "models/networks/measured_spec.hpp"
#include "models/networks/operator_spec.hpp"
#include "sim/base/schema.hpp"

#include <optional>
#include <string>

namespace foretrain::models {

inline constexpr double kMaxDimension = 1e6; // of any channel count, height, sequence length, ...

struct InputSpec {
  std::optional<int> channels;
  std::optional<int> depth;
  std::optional<int> height;
  std::optional<int> width;
  std::optional<int> tokens;
  std::optional<int> hidden;
  std::optional<int> features;
};

template <class V>
void describe(V& v, InputSpec& s)
{
  v.optional("channels", s.channels, "channels of an image", between(1, kMaxDimension));
  v.optional("depth", s.depth, "slices of a volume", between(2, kMaxDimension));
  v.optional("height", s.height, "height of an image in pixels", between(1, kMaxDimension));
  v.optional("width", s.width, "width of an image in pixels", between(1, kMaxDimension));
  v.optional("tokens", s.tokens, "length of a sequence", between(1, kMaxDimension));
  v.optional("hidden", s.hidden, "values per token; left out when the tokens are ids",
             between(1, kMaxDimension));
  v.optional("features", s.features, "length of a plain vector", between(1, kMaxDimension));
}

struct ConvDefaults {
  bool bias = true;
  Value padding; // "same" when not given
  Value then;
};

template <class V>
void describe(V& v, ConvDefaults& s)
{
  v.optional("bias", s.bias, "add a trainable bias to each output channel");
  v.optional(
      "padding", s.padding,
      "\"same\" (output = input / stride rounded up; the default), \"valid\" (none), a number "
      "or [height, width] of pixels on each side (of a volume [depth, height, width])");
  v.optional("then", s.then, "layers that follow at once, usually batch_norm and relu");
}

struct LinearDefaults {
  bool bias = true;
  Value then;
};

template <class V>
void describe(V& v, LinearDefaults& s)
{
  v.optional("bias", s.bias, "add a trainable bias to each output");
  v.optional("then", s.then, "layers that follow at once");
}

struct BatchNormDefaults {
  bool scale = true;
  bool frozen = false;
};

template <class V>
void describe(V& v, BatchNormDefaults& s)
{
  v.optional("scale", s.scale, "train gamma as well as beta");
  v.optional("frozen", s.frozen,
             "keep gamma, beta, mean and variance as they are: a factor and an addition for each "
             "channel");
}

struct LayerDefaults {
  ConvDefaults conv;
  LinearDefaults linear;
  BatchNormDefaults batch_norm;
};

template <class V>
void describe(V& v, LayerDefaults& s)
{
  v.optional("conv", s.conv, "for every conv that does not say otherwise");
  v.optional("linear", s.linear, "for every linear that does not say otherwise");
  v.optional("batch_norm", s.batch_norm, "for every batch_norm that does not say otherwise");
}

struct NetworkFile {
  std::string name;
  std::string dataset;
  std::string optimizer;
  double work_variation = 0;
  std::optional<InputSpec> input;
  LayerDefaults defaults;
  Value layers;
  Value head;
  std::optional<MeasuredSpec> measured;
  std::vector<OperatorSpec> operators; // in place of layers; empty: none
};

template <class V>
void describe(V& v, NetworkFile& s)
{
  v.format("foretrain.network/1");
  v.optional("name", s.name, "how reports call the network; the file's name when left out");
  v.optional(
      "dataset", s.dataset,
      "data set it is usually trained on; default imagenet for images, wikipedia-books else");
  v.optional("optimizer", s.optimizer,
             "optimizer it is usually trained with; default sgd-momentum, of a network with tables "
             "plain-sgd");
  v.optional("work_variation", s.work_variation,
             "coefficient of variation of the work in a batch, where it hangs on the samples: "
             "each GPU of a job waits for the one that has most",
             between(0, 1));
  v.optional("input", s.input,
             "one sample: channels, height and width; tokens; or features. Needed with layers");
  v.optional("defaults", s.defaults, "settings shared by all layers of an op");
  v.optional("layers", s.layers, "layers in forward order; needed unless times were measured");
  v.optional("head", s.head,
             "more layers, after the others; apart so that a file can replace them");
  v.optional("measured", s.measured,
             "kernel times of a recorded step, in place of layers (foretrain model import)");
  v.optional("operators", s.operators,
             "a graph by its operators' shapes, in place of layers (foretrain model import)");
}

} // namespace foretrain::models
