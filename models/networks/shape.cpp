#include "models/networks/shape.hpp"

#include <fmt/format.h>

namespace foretrain::models {

Shape Shape::image(std::int64_t channels, std::int64_t height, std::int64_t width)
{
  return {.form = Form::image, .features = channels, .height = height, .width = width};
}

Shape Shape::volume(std::int64_t channels, std::int64_t depth, std::int64_t height,
                    std::int64_t width)
{
  return image_of(channels, {height, width, depth});
}

Shape Shape::image_of(std::int64_t channels, const Pair& extent)
{
  Shape shape = image(channels, extent.height, extent.width);
  shape.depth = extent.depth;
  return shape;
}

Shape Shape::ids(std::int64_t tokens)
{
  return {.form = Form::ids, .features = 1, .tokens = tokens};
}

Shape Shape::sequence(std::int64_t tokens, std::int64_t hidden)
{
  return {.form = Form::sequence, .features = hidden, .tokens = tokens};
}

Shape Shape::vector(std::int64_t features)
{
  return {.form = Form::vector, .features = features};
}

std::string Shape::text() const
{
  switch (form) {
  case Form::image:
    if (depth > 1)
      return fmt::format("{}x{}x{}x{}", features, depth, height, width);
    return fmt::format("{}x{}x{}", features, height, width);
  case Form::ids:
    return fmt::format("{} tokens", tokens);
  case Form::sequence:
    return fmt::format("{}x{}", tokens, features);
  case Form::vector:
    return fmt::format("{}", features);
  case Form::none:
    break;
  }
  return "nothing";
}

Shape Shape::with_features(std::int64_t count) const
{
  Shape shape = *this;
  shape.features = count;
  return shape;
}

std::int64_t window_output(std::int64_t input, std::int64_t kernel, std::int64_t stride, bool same,
                           std::int64_t padding)
{
  if (same)
    return (input + stride - 1) / stride;
  const std::int64_t room = input + 2 * padding - kernel;
  return room < 0 ? 0 : room / stride + 1;
}

Pair window_output(const Shape& image, const Window& window)
{
  return {window_output(image.height, window.kernel.height, window.stride.height, window.same,
                        window.padding.height),
          window_output(image.width, window.kernel.width, window.stride.width, window.same,
                        window.padding.width),
          image.depth > 1 ? window_output(image.depth, window.kernel.depth, window.stride.depth,
                                          window.same, window.padding.depth)
                          : 1};
}

} // namespace foretrain::models
