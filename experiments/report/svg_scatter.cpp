#include "experiments/report/svg_scatter.hpp"

#include "experiments/report/svg.hpp"
#include "experiments/report/svg_scale.hpp"
#include "experiments/report/svg_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kLeft = 62;
constexpr double kRight = 24;
constexpr double kTop = 30;
constexpr double kBottom = 46;

struct Frame {
  Scale x;
  Scale y;
  std::vector<double> ticks;
};

Frame frame_of(const ScatterChart& chart, double width, double height)
{
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const ScatterPoint& point : chart.points) {
    low = std::min({low, point.x, point.y});
    high = std::max({high, point.x, point.y});
  }
  Frame frame;
  const auto ticks = ratio_ticks(low, high);
  low /= 1.15;
  high *= 1.15;
  for (const double tick : ticks)
    if (tick >= low && tick <= high)
      frame.ticks.push_back(tick);
  frame.x = {low, high, kLeft, width - kRight, true};
  frame.y = {low, high, height - kBottom, kTop, true};
  return frame;
}

std::string line(const char* looks, double x1, double y1, double x2, double y2)
{
  return fmt::format(R"(<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>)", looks, coordinate(x1),
                     coordinate(y1), coordinate(x2), coordinate(y2));
}

std::string label(const char* looks, double x, double y, const char* anchor,
                  const std::string& text)
{
  return fmt::format(R"(<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>)", looks,
                     coordinate(x), coordinate(y), anchor, escaped(text));
}

std::string axes(const ScatterChart& chart, const Frame& frame)
{
  std::string svg;
  double last = -1e9;
  for (const double tick : frame.ticks) {
    const double x = frame.x(tick);
    const double y = frame.y(tick);
    svg += line("grid", frame.x.from, y, frame.x.to, y);
    svg += line("grid", x, frame.y.from, x, frame.y.to);
    svg += label("tick", frame.x.from - 8, y + 4, "end", tick_text(tick));
    if (x - last < 9.0 + 7.0 * static_cast<double>(tick_text(tick).size()))
      continue;
    svg += label("tick", x, frame.y.from + 19, "middle", tick_text(tick));
    last = x;
  }
  svg += line("axis", frame.x.from, frame.y.from, frame.x.to, frame.y.from);
  svg += line("axis", frame.x.from, frame.y.from, frame.x.from, frame.y.to);
  svg += label("title", 4, 14, "start", chart.y_title);
  svg +=
      label("title", (frame.x.from + frame.x.to) / 2, frame.y.from + 39, "middle", chart.x_title);
  return svg;
}

// y = factor * x, as far as it is inside.
std::string diagonal(const Frame& frame, double factor, const char* looks)
{
  const double first = std::max(frame.x.low, frame.y.low / factor);
  const double last = std::min(frame.x.high, frame.y.high / factor);
  return last > first ? line(looks, frame.x(first), frame.y(factor * first), frame.x(last),
                             frame.y(factor * last))
                      : "";
}

std::string mark(const ScatterPoint& point, const Frame& frame)
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
  const Frame frame = frame_of(chart, width, height);
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
