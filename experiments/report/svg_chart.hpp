// A chart of curves with interval bars, as inline SVG whose colours come from the page's style.
#pragma once

#include <string>
#include <vector>

namespace foretrain::experiments {

struct CurvePoint {
  double x = 0;
  double y = 0;
  double low = 0; // of the interval; low == high: none is drawn
  double high = 0;
  std::string tip; // shown over the point
};

struct Curve {
  std::vector<CurvePoint> points; // sorted by x
  double ideal_slope = 0;         // draws y = slope * x; 0: no ideal line
  std::size_t look = 0;           // colour, marker and dashes
};

struct LineChart {
  std::string description; // for those who cannot see it
  std::string x_title;
  std::string y_title;
  std::vector<Curve> curves;
  double y_least = 0; // the y axis reaches at least this: for panels that share a scale
};

/// Both axes even and from zero, or by ratio if x spans more than a factor of 32.
std::string line_chart(const LineChart& chart, double width, double height);

} // namespace foretrain::experiments
