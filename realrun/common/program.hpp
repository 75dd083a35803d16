// A network as both engines run it: a straight list of operations on numbered buffers.
//
// A buffer holds, for each sample, `rows` x `width` floats in row-major order; images are stored
// height x width x channels, so that a convolution is a gather of patches and one GEMM, and a
// transformer's token is a row. All parameters lie in one flat vector, in forward order.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace foretrain::realrun {

enum class OpKind { convolution, linear, relu, gelu, layer_norm, attention, add, mean_pool };

/// The kind's name in records ("convolution", "linear", ...).
std::string name_of(OpKind kind);

struct Buffer {
  std::size_t rows = 1;
  std::size_t width = 0;
  std::size_t size() const { return rows * width; }
};

/// A matrix or vector of parameters. Weights start normal with deviation sqrt(gain / fan_in);
/// fan_in 0 means: constant `start`.
struct Parameter {
  std::string name;
  std::size_t rows = 1;
  std::size_t columns = 0;
  std::size_t offset = 0; // first element in the flat vector
  double gain = 2.0;
  std::size_t fan_in = 0;
  float start = 0.0F;
  std::size_t size() const { return rows * columns; }
};

struct Patches { // geometry of a convolution
  int height = 0, width = 0, channels = 0;
  int kernel = 0, stride = 1, pad = 0;
  constexpr int out_height() const { return (height + 2 * pad - kernel) / stride + 1; }
  constexpr int out_width() const { return (width + 2 * pad - kernel) / stride + 1; }
  constexpr std::size_t row() const { return static_cast<std::size_t>(kernel * kernel * channels); }
};

struct Op {
  OpKind kind = OpKind::linear;
  std::string name;
  std::size_t input = 0;  // buffer
  std::size_t other = 0;  // add: the second buffer
  std::size_t output = 0; // buffer
  int weight = -1;        // parameter: weights, or a layer norm's scale
  int bias = -1;          // parameter: bias, or a layer norm's shift
  Patches patches{};
  int heads = 1;
  std::size_t saved = 0;      // floats per sample kept from forward for backward
  bool input_gradient = true; // false when nobody needs it (the pixels)
  bool adds_to_input = false; // backward adds to the input's gradient instead of setting it
  bool adds_to_other = false;
  double forward_flop = 0.0;  // per sample
  double backward_flop = 0.0; // per sample
};

struct Program {
  std::string name;
  std::vector<Buffer> buffers; // 0 holds the pixels
  std::vector<Parameter> parameters;
  std::vector<Op> ops;
  std::size_t logits = 0; // buffer with one row of `classes` values
  int image = 0, channels = 0, classes = 0;
  std::size_t parameter_count = 0;
  std::size_t largest_patch_matrix = 0; // floats per sample, for the shared scratch

  double flop_per_sample() const; // forward and backward
};

/// Fills in what follows from the op list: which gradients are set and which are added to, whose
/// input needs none, and the sizes of scratch. Called once by the builder.
void complete(Program& program);

} // namespace foretrain::realrun
