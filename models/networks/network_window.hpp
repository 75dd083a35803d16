// Kernel, stride and padding as files write them: 3 or [1, 7]; "same", "valid" or pixels.
#pragma once

#include "models/networks/shape.hpp"
#include "sim/base/document.hpp"

namespace foretrain::models {

/// A whole number or [height, width], of a volume [depth, height, width]; `fallback` when the value
/// is missing, and `low` for the depth of a flat image.
Pair read_pair(const Value& value, std::int64_t low, Pair fallback, const Shape& image);

/// A missing stride is `default_stride`, a missing padding is "same" or none. Throws when the
/// kernel does not fit the image, padding included.
Window read_window(const Value& at, const Value& kernel, const Value& stride, const Value& padding,
                   const Shape& image, Pair default_stride, bool default_same);

} // namespace foretrain::models
