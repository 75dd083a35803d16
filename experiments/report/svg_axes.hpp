// What charts with two axes have in common: margins, lines and labels.
#pragma once

#include <string>

namespace foretrain::experiments {

/// Margins around the plot, in pixels.
inline constexpr double kPlotLeft = 62;
inline constexpr double kPlotRight = 24;
inline constexpr double kPlotTop = 30;
inline constexpr double kPlotBottom = 46;

/// A line and a text of the class `looks`; `anchor` is "start", "middle" or "end".
std::string svg_line(const char* looks, double x1, double y1, double x2, double y2);
std::string svg_label(const char* looks, double x, double y, const char* anchor,
                      const std::string& text);

} // namespace foretrain::experiments
