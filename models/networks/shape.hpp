// What flows between two layers for one sample: an image, a sequence, a vector of features.
// Sizes are elements, never bytes: precision belongs to the job.
#pragma once

#include <cstdint>
#include <string>

namespace foretrain::models {

struct Pair {
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t depth = 1; // of volumes
  std::int64_t area() const { return depth * height * width; }
  bool operator==(const Pair&) const = default;
};

struct Shape {
  enum class Form {
    image,    // channels x height x width
    ids,      // tokens, before any embedding
    sequence, // tokens x hidden
    vector,   // features
    none,     // after the last layer of a network with several heads
  };
  Form form = Form::none;
  std::int64_t features = 0; // channels, hidden size or length of the vector
  std::int64_t depth = 1;    // image only; more than 1: a volume
  std::int64_t height = 1;   // image only
  std::int64_t width = 1;    // image only
  std::int64_t tokens = 1;   // ids and sequence only

  static Shape image(std::int64_t channels, std::int64_t height, std::int64_t width);
  static Shape volume(std::int64_t channels, std::int64_t depth, std::int64_t height,
                      std::int64_t width);
  static Shape ids(std::int64_t tokens);
  static Shape sequence(std::int64_t tokens, std::int64_t hidden);
  static Shape vector(std::int64_t features);

  bool operator==(const Shape&) const = default;

  /// Places that share one vector of features: pixels, tokens, or 1.
  std::int64_t positions() const { return depth * height * width * tokens; }
  std::int64_t elements() const { return positions() * features; }
  /// "64x112x112" (channels first, then depth if there is one), "128x768" (tokens first), "1001".
  std::string text() const;
  Shape with_features(std::int64_t count) const;
  /// An image of so many channels and this extent.
  static Shape image_of(std::int64_t channels, const Pair& extent);
};

/// The window of a convolution or a pooling.
struct Window {
  Pair kernel;
  Pair stride;
  bool same = false;     // pad so that output = ceil(input / stride), as TensorFlow does
  Pair padding{0, 0, 0}; // on each side, when not `same`
};

/// Output length along one dimension, 0 when the kernel does not fit:
///   same:  ceil(input / stride)        otherwise:  floor((input + 2 padding - kernel) / stride) +
///   1
std::int64_t window_output(std::int64_t input, std::int64_t kernel, std::int64_t stride, bool same,
                           std::int64_t padding);
/// Height, width and depth that a window makes of an image.
Pair window_output(const Shape& image, const Window& window);

} // namespace foretrain::models
