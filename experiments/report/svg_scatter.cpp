#include "experiments/report/svg_scatter.hpp"

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

struct ScatterFrame {
  Scale x;
  Scale y;
  std::vector<double> ticks;
};

ScatterFrame frame_of(const ScatterChart& chart, double width, double height)
{
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const ScatterPoint& point : chart.points) {
    low = std::min({low, point.x, point.y});
    high = std::max({high, point.x, point.y});
  }
  ScatterFrame frame;
  const auto ticks = ratio_ticks(low, high);
  low /= 1.15;
  high *= 1.15;
  for (const double tick : ticks)
    if (tick >= low && tick <= high)
      frame.ticks.push_back(tick);
  frame.x = {low, high, kPlotLeft, width - kPlotRight, true};
  frame.y = {low, high, height - kPlotBottom, kPlotTop, true};
  return frame;
}

std::string axes(const ScatterChart& chart, const ScatterFrame& frame)
{
  std::string svg;
  double last = -1e9;
  for (const double tick : frame.ticks) {
    const double x = frame.x(tick);
    const double y = frame.y(tick);
    svg += svg_line("grid", frame.x.from, y, frame.x.to, y);
    svg += svg_line("grid", x, frame.y.from, x, frame.y.to);
    svg += svg_label("tick", frame.x.from - 8, y + 4, "end", tick_text(tick));
    if (x - last < 9.0 + 7.0 * static_cast<double>(tick_text(tick).size()))
      continue;
    svg += svg_label("tick", x, frame.y.from + 19, "middle", tick_text(tick));
    last = x;
  }
  svg += svg_line("axis", frame.x.from, frame.y.from, frame.x.to, frame.y.from);
  svg += svg_line("axis", frame.x.from, frame.y.from, frame.x.from, frame.y.to);
  svg += svg_label("title", 4, 14, "start", chart.y_title);
  svg += svg_label("title", (frame.x.from + frame.x.to) / 2, frame.y.from + 39, "middle",
                   chart.x_title);
  return svg;
}

// y = factor * x, as far as it is inside.
std::string diagonal(const ScatterFrame& frame, double factor, const char* looks)
{
  const double first = std::max(frame.x.low, frame.y.low / factor);
  const double last = std::min(frame.x.high, frame.y.high / factor);
  return last > first ? svg_line(looks, frame.x(first), frame.y(factor * first), frame.x(last),
                                 frame.y(factor * last))
                      : "";
}

std::string mark(const ScatterPoint& point, const ScatterFrame& frame)
{
  const double x = frame.x(point.x);
  const double y = frame.y(point.y);
  std::string svg = fmt::format(R"(<g class="c{} tip"><title>{}</title>)", point.look % kCurveLooks,
                                escaped(point.tip));
  if (point.high > point.low)
    svg += fmt::format(R"(<path class="whisker" d="M{0} {1}V{2}"/>)", coordinate(x),
                       coordinate(frame.y(std::max(point.low, frame.y.low))),
                       coordinate(frame.y(std::min(point.high, frame.y.high))));
  svg +=
      fmt::format(R"(<circle class="reach" cx="{}" cy="{}" r="7"/><path class="marker" d="{}"/>)",
                  coordinate(x), coordinate(y), marker_path(point.look, x, y, 4));
  return svg + "</g>";
}

} // namespace

std::string scatter_chart(const ScatterChart& chart, double width, double height)
{
  if (chart.points.empty())
    return "";
  const ScatterFrame frame = frame_of(chart, width, height);
  std::string svg = fmt::format(
      R"(<svg class="chart" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="{2}">)",
      coordinate(width), coordinate(height), escaped(chart.description));
  svg += axes(chart, frame);
  svg += diagonal(frame, 1, "axis");
  if (chart.band > 0)
    svg += diagonal(frame, 1 + chart.band, "ideal") + diagonal(frame, 1 - chart.band, "ideal");
  for (const ScatterPoint& point : chart.points)
    svg += mark(point, frame);
  return svg + "</svg>";
}

} // namespace foretrain::experiments
