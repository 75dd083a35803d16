#include "models/networks/network_window.hpp"

#include "sim/base/schema.hpp"

#include <fmt/format.h>

namespace foretrain::models {

namespace {
constexpr double kMaxKernel = 1000;
}

Pair read_pair(const Value& value, std::int64_t low, Pair fallback)
{
  if (!value)
    return fallback;
  const Limits limits = between(static_cast<double>(low), kMaxKernel);
  int height = 0;
  int width = 0;
  if (value.json().is_array()) {
    if (value.json().size() != 2)
      value.fail("must be a number or [height, width], got " + value.shown());
    Reader::read(value.at(std::size_t{0}), height, limits);
    Reader::read(value.at(std::size_t{1}), width, limits);
  } else {
    Reader::read(value, height, limits);
    width = height;
  }
  return {height, width};
}

Window read_window(const Value& at, const Value& kernel, const Value& stride, const Value& padding,
                   const Shape& image, Pair default_stride, bool default_same)
{
  Window window;
  window.kernel = read_pair(kernel, 1, {1, 1});
  window.stride = read_pair(stride, 1, default_stride);
  window.same = default_same;
  if (padding && padding.json().is_string()) {
    std::string word;
    Reader::read(padding, word, one_of({"same", "valid"}));
    window.same = word == "same";
  } else if (padding) {
    window.same = false;
    window.padding = read_pair(padding, 0, {});
  }
  const Pair out = window_output(image, window);
  if (out.height < 1 || out.width < 1)
    at.fail_at("kernel", fmt::format("({}x{}) is larger than its input {} with padding {}x{}",
                                     window.kernel.height, window.kernel.width, image.text(),
                                     window.padding.height, window.padding.width));
  return window;
}

} // namespace foretrain::models
