#include "experiments/report/svg_axes.hpp"

#include "experiments/report/svg.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

std::string svg_line(const char* looks, double x1, double y1, double x2, double y2)
{
  return fmt::format(R"(<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>)", looks, coordinate(x1),
                     coordinate(y1), coordinate(x2), coordinate(y2));
}

std::string svg_label(const char* looks, double x, double y, const char* anchor,
                      const std::string& text)
{
  return fmt::format(R"(<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>)", looks,
                     coordinate(x), coordinate(y), anchor, escaped(text));
}

} // namespace foretrain::experiments
