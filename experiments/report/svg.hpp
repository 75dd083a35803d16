// Text for SVG and HTML: escaping, coordinates, and the looks of curves by index.
#pragma once

#include <string>
#include <string_view>

namespace foretrain::experiments {

/// Text made safe for elements and quoted attributes; control characters become spaces.
std::string escaped(std::string_view text);

/// At most two decimals, no exponent, no "-0".
std::string coordinate(double value);

/// How many curves can be told apart by colour, marker and dashes.
inline constexpr std::size_t kCurveLooks = 8;

/// The marker of curve `index` around (x, y), as a path.
std::string marker_path(std::size_t index, double x, double y, double radius);

/// The dashes of curve `index`, as a stroke-dasharray.
const char* curve_dashes(std::size_t index);

/// A small picture of curve `index` for legends.
std::string curve_swatch(std::size_t index);

} // namespace foretrain::experiments
