#include "experiments/report/svg_chart.hpp"

#include "experiments/report/svg.hpp"
#include "experiments/report/svg_axes.hpp"
#include "experiments/report/svg_scale.hpp"
#include "experiments/report/svg_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void take(double value)
  {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

struct Frame {
  Scale x;
  Scale y;
  std::vector<double> x_ticks;
  std::vector<double> y_ticks;
};

// The values that occur, as far as their labels fit; else round numbers.
std::vector<double> x_ticks(const LineChart& chart, const Scale& x)
{
  std::vector<double> values;
  for (const Curve& curve : chart.curves)
    for (const CurvePoint& point : curve.points)
      values.push_back(point.x);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() > 16) {
    auto ticks = x.logarithmic ? ratio_ticks(x.low, x.high) : round_ticks(x.low, x.high, 8);
    std::erase_if(ticks,
                  [&](double t) { return t > x.high * (1 + 1e-9) || t < x.low * (1 - 1e-9); });
    return ticks;
  }
  std::vector<double> ticks; // from the right: the largest value matters most
  for (auto value = values.rbegin(); value != values.rend(); ++value)
    if (ticks.empty() ||
        x(ticks.back()) - x(*value) >= 9.0 + 7.0 * static_cast<double>(tick_text(*value).size()))
      ticks.push_back(*value);
  return ticks;
}

Frame frame_of(const LineChart& chart, double width, double height)
{
  Extent x;
  Extent y;
  double ideal = 0;
  for (const Curve& curve : chart.curves)
    for (const CurvePoint& point : curve.points) {
      x.take(point.x);
      y.take(point.low > 0 ? point.low : point.y);
      y.take(point.high);
      y.take(point.y);
      ideal = std::max(ideal, curve.ideal_slope * point.x);
    }
  const bool by_ratio = x.low > 0 && y.low > 0 && x.high > 32 * x.low;
  const double top =
      std::max({y.high, chart.y_least, std::min(ideal, (by_ratio ? 4 : 1.3) * y.high)});
  Frame frame;
  frame.y_ticks = by_ratio ? ratio_ticks(y.low, top) : round_ticks(std::min(0.0, y.low), top, 5);
  frame.y = {frame.y_ticks.front(), frame.y_ticks.back(), height - kPlotBottom, kPlotTop, by_ratio};
  const double first = by_ratio ? x.low : x.low >= 0 && x.low < 0.5 * x.high ? 0 : x.low;
  frame.x = {first, x.high, kPlotLeft, width - kPlotRight, by_ratio};
  if (!by_ratio && first == x.low && x.high > x.low) { // keep markers off the axis
    const double pad = 0.04 * (x.high - x.low);
    frame.x.low -= pad;
    frame.x.high += pad;
  } else if (by_ratio) {
    frame.x.low /= std::pow(x.high / x.low, 0.03);
  }
  frame.x_ticks = x_ticks(chart, frame.x);
  return frame;
}

std::string axes(const LineChart& chart, const Frame& frame)
{
  std::string svg;
  for (const double tick : frame.y_ticks) {
    const double y = frame.y(tick);
    svg +=
        svg_line(tick == frame.y_ticks.front() ? "axis" : "grid", frame.x.from, y, frame.x.to, y);
    svg += svg_label("tick", frame.x.from - 8, y + 4, "end", tick_text(tick));
  }
  for (const double tick : frame.x_ticks) {
    const double x = frame.x(tick);
    svg += svg_line("axis", x, frame.y.from, x, frame.y.from + 5);
    svg += svg_label("tick", x, frame.y.from + 19, "middle", tick_text(tick));
  }
  svg += svg_label("title", 4, 14, "start", chart.y_title);
  svg += svg_label("title", (frame.x.from + frame.x.to) / 2, frame.y.from + 39, "middle",
                   chart.x_title);
  return svg;
}

std::string ideal_line(const Curve& curve, const Frame& frame)
{
  const double slope = curve.ideal_slope;
  const double start = frame.x.logarithmic ? curve.points.front().x : frame.x.low;
  const double first = std::max(start, frame.y.low / slope);
  const double last = std::min(curve.points.back().x, frame.y.high / slope);
  if (!(slope > 0) || !(last > first))
    return "";
  return svg_line("ideal", frame.x(first), frame.y(slope * first), frame.x(last),
                  frame.y(slope * last));
}

std::string curve_body(const Curve& curve, const Frame& frame)
{
  std::string path;
  std::string bars;
  std::string markers;
  for (const CurvePoint& point : curve.points) {
    const double x = frame.x(point.x);
    path += (path.empty() ? "M" : "L") + coordinate(x) + " " + coordinate(frame.y(point.y));
    if (point.high > point.low) {
      const double low = frame.y(std::max(point.low, frame.y.low));
      const double high = frame.y(point.high);
      bars += fmt::format(R"(<path class="whisker" d="M{0} {2}H{1}M{0} {3}H{1}M{4} {2}V{3}"/>)",
                          coordinate(x - 4), coordinate(x + 4), coordinate(low), coordinate(high),
                          coordinate(x));
    }
    markers += fmt::format(
        R"(<g class="tip"><title>{}</title><circle class="reach" cx="{}" cy="{}" r="11"/>)"
        R"(<path class="marker" d="{}"/></g>)",
        escaped(point.tip), coordinate(x), coordinate(frame.y(point.y)),
        marker_path(curve.look, x, frame.y(point.y), curve.points.size() > 60 ? 2 : 4));
  }
  return fmt::format(R"(<path class="curve" stroke-dasharray="{}" d="{}"/>)",
                     curve_dashes(curve.look), path) +
         bars + markers;
}

} // namespace

std::string line_chart(const LineChart& chart, double width, double height)
{
  const Frame frame = frame_of(chart, width, height);
  std::string svg = fmt::format(
      R"(<svg class="chart" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">)",
      coordinate(width), coordinate(height), escaped(chart.description));
  svg += axes(chart, frame);
  for (const Curve& curve : chart.curves)
    if (!curve.points.empty())
      svg += fmt::format(R"(<g class="c{}">{}{}</g>)", curve.look % kCurveLooks,
                         ideal_line(curve, frame), curve_body(curve, frame));
  return svg + "</svg>";
}

} // namespace foretrain::experiments
