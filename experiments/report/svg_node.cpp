#include "experiments/report/svg_node.hpp"

#include "experiments/report/svg.hpp"
#include "experiments/report/svg_text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kMostParts = 48;
constexpr double kDeviceRow = 34; // between devices
constexpr double kBox = 24;       // height of a box
constexpr double kMargin = 18;    // left and right, for links between sockets
constexpr double kAbove = 8;
constexpr double kArcs = 0.24; // of the width, for NVLinks and networks

struct Place {
  double x = 0; // left edge
  double y = 0; // middle
};

// Where everything is.
class NodeLayout {
public:
  NodeLayout(const NodeDrawing& node, double width);

  double height() const { return kAbove + kDeviceRow * rows_; }
  double box() const { return box_; }
  double gap() const { return column_ - box_; } // between columns
  double right() const { return right_; }       // where arcs may reach to
  bool has(const std::string& name) const { return places_.count(name) > 0; }
  const Place& at(const std::string& name) const { return places_.at(name); }

private:
  double put(const std::string& name, int depth);
  int depth_below(const std::string& name, int depth) const;

  std::map<std::string, std::vector<std::string>> below_; // what is plugged into a part
  std::map<std::string, std::string> kinds_;
  std::map<std::string, Place> places_;
  int depths_ = 1; // columns before that of the devices
  double box_ = 0;
  double column_ = 0;
  double right_ = 0;
  int rows_ = 0;
};

bool is_device(const std::string& kind)
{
  return kind != "cpu" && kind != "pcie-switch";
}

NodeLayout::NodeLayout(const NodeDrawing& node, double width)
{
  for (const DrawnPart& part : node.parts)
    kinds_[part.name] = part.kind;
  std::set<std::string> plugged;
  for (const DrawnLink& link : node.links)
    if (link.kind == "pcie" && kinds_.count(link.from) > 0 && kinds_.count(link.to) > 0 &&
        plugged.insert(link.from).second)
      below_[link.to].push_back(link.from);
  for (auto& [name, list] : below_) // devices beside each other, switches first
    std::stable_sort(list.begin(), list.end(), [this](const auto& a, const auto& b) {
      return is_device(kinds_[a]) < is_device(kinds_[b]);
    });
  for (const DrawnPart& part : node.parts)
    if (plugged.count(part.name) == 0)
      depths_ = std::max(depths_, depth_below(part.name, 1));
  right_ = width - 4;
  const double devices = width * (1 - kArcs);
  box_ = std::min(118.0, (devices - kMargin) / (depths_ + 1) - 34);
  column_ = (devices - kMargin - box_) / depths_;
  for (const DrawnPart& part : node.parts)
    if (plugged.count(part.name) == 0)
      put(part.name, is_device(part.kind) ? depths_ : 0);
}

// Columns that a part and the switches below it take.
int NodeLayout::depth_below(const std::string& name, int depth) const
{
  int most = depth;
  if (const auto list = below_.find(name); list != below_.end() && depth < 8)
    for (const std::string& part : list->second)
      if (!is_device(kinds_.at(part)))
        most = std::max(most, depth_below(part, depth + 1));
  return most;
}

// Each device has a row; what others are plugged into stands in the middle of them.
double NodeLayout::put(const std::string& name, int depth)
{
  double sum = 0;
  int parts = 0;
  if (const auto list = below_.find(name); list != below_.end() && depth < 8)
    for (const std::string& part : list->second) {
      sum += put(part, is_device(kinds_.at(part)) ? depths_ : depth + 1);
      ++parts;
    }
  const double y = parts > 0 ? sum / parts : kAbove + kDeviceRow * (0.5 + rows_++);
  places_[name] = {kMargin + column_ * depth, y};
  return y;
}

std::string path(const DrawnLink& link, const std::string& shape)
{
  return fmt::format(R"(<g class="tip link {}"><title>{}</title><path d="{}"/></g>)",
                     load_style(link.utilisation), escaped(link.tip), shape);
}

std::string text(double x, double y, const char* style, const std::string& words)
{
  return fmt::format(R"(<text class="{}" x="{}" y="{}">{}</text>)", style, coordinate(x),
                     coordinate(y), escaped(words));
}

std::string load_text(double x, double y, const char* style, double load)
{
  return load < 0.005 ? "" : text(x, y, style, percent_text(load));
}

// From the upper part's right edge to the lower part's left edge: aslant in the gap beside the
// upper one, then along a row that is the lower one's own.
std::string pcie(const NodeLayout& layout, const DrawnLink& link)
{
  const Place& low = layout.at(link.from);
  const Place& up = layout.at(link.to);
  const double x = up.x + layout.box();
  return path(link, fmt::format("M{} {}L{} {}L{} {}", coordinate(x), coordinate(up.y),
                                coordinate(x + 0.6 * layout.gap()), coordinate(low.y),
                                coordinate(low.x), coordinate(low.y))) +
         load_text(low.x - 3, low.y - 4, "load end", link.utilisation);
}

// An arc beside the boxes, the wider the further its ends are apart.
std::string arc(const NodeLayout& layout, const DrawnLink& link, bool left)
{
  const Place& a = layout.at(link.from);
  const Place& b = layout.at(link.to);
  const double x = left ? a.x : a.x + layout.box();
  const double room = left ? kMargin - 2 : layout.right() - x;
  const double wide = std::min(room, 10 + 0.13 * room * std::abs(a.y - b.y) / kDeviceRow) * 4 / 3;
  const double control = left ? x - wide : x + wide;
  return path(link, fmt::format("M{0} {1}C{2} {1} {2} {3} {0} {3}", coordinate(x), coordinate(a.y),
                                coordinate(control), coordinate(b.y)));
}

// To something outside: a network, or the NVSwitch.
std::string outward(const NodeLayout& layout, const DrawnLink& link, bool named)
{
  const Place& from = layout.at(link.from);
  const double x = from.x + layout.box();
  const double to = named ? x + 30 : layout.right() - 12;
  return path(link, fmt::format("M{} {}H{}", coordinate(x), coordinate(from.y), coordinate(to))) +
         load_text(named ? to + 4 : x + 4, from.y - 4, "load", link.utilisation);
}

std::string box(const NodeLayout& layout, const DrawnPart& part)
{
  const Place& at = layout.at(part.name);
  const double top = at.y - kBox / 2;
  const double share = std::clamp(part.utilisation.value_or(0), 0.0, 1.0);
  const bool gpu = part.kind == "gpu";
  const std::string what =
      part.utilisation
          ? fmt::format("{}: {} busy", part.name, (gpu ? "" : "memory ") + percent_text(share))
          : part.name;
  std::string svg =
      fmt::format(R"(<g class="tip part {}"><title>{}</title><rect class="case" x="{}" )"
                  R"(y="{}" width="{}" height="{}" rx="3"/>)",
                  load_style(share), escaped(what), coordinate(at.x), coordinate(top),
                  coordinate(layout.box()), coordinate(kBox));
  if (part.utilisation)
    svg += fmt::format(R"(<rect class="full" x="{}" y="{}" width="{}" height="4"/>)",
                       coordinate(at.x + 1), coordinate(top + kBox - 5),
                       coordinate(share * (layout.box() - 2)));
  const auto letters = static_cast<std::size_t>(std::max(3.0, layout.box() / 7.2));
  std::string name = part.name;
  if (gpu && part.utilisation && part.name.size() + 6 <= letters)
    name += "  " + percent_text(share);
  return svg + text(at.x + 5, at.y + 3, "name", clipped(name, letters)) + "</g>";
}

// The switch that all NVLinks end in.
std::string nvswitch(const NodeLayout& layout, const NodeDrawing& node)
{
  double low = layout.height();
  double high = 0;
  for (const DrawnLink& link : node.links)
    if (link.kind == "nvlink" && !layout.has(link.to) && layout.has(link.from)) {
      low = std::min(low, layout.at(link.from).y);
      high = std::max(high, layout.at(link.from).y);
    }
  if (high <= 0)
    return "";
  return fmt::format(
      R"(<g class="tip part"><title>NVSwitch</title><rect class="case" x="{}" y="{}" )"
      R"(width="12" height="{}" rx="3"/></g>)",
      coordinate(layout.right() - 12), coordinate(low - kBox / 2), coordinate(high - low + kBox));
}

} // namespace

const char* load_style(double utilisation)
{
  return utilisation < 0.05   ? "u0"
         : utilisation < 0.25 ? "u1"
         : utilisation < 0.5  ? "u2"
         : utilisation < 0.75 ? "u3"
                              : "u4";
}

std::string node_drawing(const NodeDrawing& node, double width)
{
  if (node.parts.empty() || node.parts.size() > kMostParts)
    return "";
  const NodeLayout layout(node, width);
  std::string svg =
      fmt::format(R"(<svg class="chart node" viewBox="0 0 {0} {1}" role="img" aria-label="{2}">)",
                  coordinate(width), coordinate(layout.height()), escaped(node.description));
  for (const DrawnLink& link : node.links) {
    if (!layout.has(link.from))
      continue;
    if (link.kind == "pcie" && layout.has(link.to))
      svg += pcie(layout, link);
    else if (layout.has(link.to))
      svg += arc(layout, link, link.kind == "socket-link");
    else
      svg += outward(layout, link, link.kind == "network");
  }
  svg += nvswitch(layout, node);
  for (const DrawnPart& part : node.parts)
    if (layout.has(part.name)) // not where a made-up file plugs parts in a circle
      svg += box(layout, part);
  return svg + "</svg>";
}

} // namespace foretrain::experiments
