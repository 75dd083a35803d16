// Predicted against measured, both by ratio, as inline SVG: on the diagonal a prediction is right.
#pragma once

#include <string>
#include <vector>

namespace foretrain::experiments {

struct ScatterPoint {
  double x = 0; // both positive
  double y = 0;
  double low = 0; // of y's interval; low == high: none is drawn
  double high = 0;
  std::size_t look = 0; // colour and marker
  std::string tip;
};

struct ScatterChart {
  std::string description; // for those who cannot see it
  std::string x_title;
  std::string y_title;
  double band = 0.2; // dotted lines so far above and below the diagonal, as a share
  std::vector<ScatterPoint> points;
};

/// Both axes have the same range: that of all values.
std::string scatter_chart(const ScatterChart& chart, double width, double height);

} // namespace foretrain::experiments
