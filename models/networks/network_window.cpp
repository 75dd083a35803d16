#include "models/networks/network_window.hpp"

#include "sim/base/schema.hpp"

#include <fmt/format.h>

namespace foretrain::models {

namespace {
constexpr double kMaxKernel = 1000;
}

Pair read_pair(const Value& value, std::int64_t low, Pair fallback, const Shape& image)
{
  const bool volume = image.depth > 1;
  if (!value)
    return volume ? fallback : Pair{fallback.height, fallback.width, low};
  const Limits limits = between(static_cast<double>(low), kMaxKernel);
  if (!value.json().is_array()) {
    int length = 0;
    Reader::read(value, length, limits);
    return {length, length, volume ? length : low};
  }
  const std::size_t dimensions = volume ? 3 : 2;
  if (value.json().size() != dimensions)
    value.fail(fmt::format("must be a number or {}, got {}",
                           volume ? "[depth, height, width]" : "[height, width]", value.shown()));
  std::vector<int> lengths(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i)
    Reader::read(value.at(i), lengths[i], limits);
  return {lengths[dimensions - 2], lengths[dimensions - 1], volume ? lengths.front() : low};
}

Window read_window(const Value& at, const Value& kernel, const Value& stride, const Value& padding,
                   const Shape& image, Pair default_stride, bool default_same)
{
  Window window;
  window.kernel = read_pair(kernel, 1, {1, 1}, image);
  window.stride = read_pair(stride, 1, default_stride, image);
  window.same = default_same;
  if (padding && padding.json().is_string()) {
    std::string word;
    Reader::read(padding, word, one_of({"same", "valid"}));
    window.same = word == "same";
  } else if (padding) {
    window.same = false;
    window.padding = read_pair(padding, 0, {0, 0, 0}, image);
  }
  const Pair out = window_output(image, window);
  if (out.area() < 1)
    at.fail_at("kernel", fmt::format("({}x{}) is larger than its input {} with padding {}x{}",
                                     window.kernel.height, window.kernel.width, image.text(),
                                     window.padding.height, window.padding.width));
  return window;
}

} // namespace foretrain::models
