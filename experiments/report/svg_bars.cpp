#include "experiments/report/svg_bars.hpp"

#include "experiments/report/svg.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kPercentPerLetter = 2.2; // on a narrow window; a text needs this much of the width

std::string percent(double share)
{
  return coordinate(100 * std::clamp(share, 0.0, 1.0)) + "%";
}

std::string opened(const char* style, const std::string& description)
{
  return fmt::format(R"(<svg class="{}" width="100%" role="img" aria-label="{}">)", style,
                     escaped(description));
}

} // namespace

std::string stacked_bar(const std::vector<BarPart>& parts, const std::string& description)
{
  std::string svg = opened("bar", description);
  double at = 0;
  for (const BarPart& part : parts) {
    if (!(part.length > 0))
      continue;
    svg += fmt::format(R"(<g class="tip {}"><title>{}</title>)"
                       R"(<rect x="{}" width="{}" height="100%"/>)",
                       part.style, escaped(part.tip), percent(at), percent(part.length));
    if (100 * part.length > kPercentPerLetter * static_cast<double>(part.text.size() + 1))
      svg += fmt::format(R"(<text x="{}" y="50%">{}</text>)", percent(at + part.length / 2),
                         escaped(part.text));
    svg += "</g>";
    at += part.length;
  }
  return svg + "</svg>";
}

std::string value_bar(const ValueBar& bar, const std::string& description)
{
  std::string svg = opened("bar", description);
  svg += fmt::format(R"(<g class="tip c{}"><title>{}</title>)"
                     R"(<rect class="fill" width="{}" height="100%"/>)",
                     bar.look % kCurveLooks, escaped(description), percent(bar.length));
  if (bar.high > bar.low)
    svg += fmt::format(R"(<line class="range" x1="{0}" x2="{1}" y1="50%" y2="50%"/>)"
                       R"(<line class="range" x1="{0}" x2="{0}" y1="25%" y2="75%"/>)"
                       R"(<line class="range" x1="{1}" x2="{1}" y1="25%" y2="75%"/>)",
                       percent(bar.low), percent(bar.high));
  if (bar.mark > 0)
    svg += fmt::format(R"(<line class="mark" x1="{0}" x2="{0}" y1="0%" y2="100%"/>)",
                       percent(bar.mark));
  return svg + "</g></svg>";
}

std::string meter(double share, const std::string& description)
{
  return opened("meter", description) +
         fmt::format(R"(<rect class="rest" width="100%" height="100%"/>)"
                     R"(<rect class="used" width="{}" height="100%"/></svg>)",
                     percent(share));
}

} // namespace foretrain::experiments
