#include "experiments/report/report_html_node.hpp"

#include "experiments/report/report_html_answer.hpp"
#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_node.hpp"
#include "experiments/report/svg_text.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kDrawnNodes = 2; // more are folded

std::string link_tip(const NodeUse::Link& link)
{
  return fmt::format("{} {} to {}: {}, back {}, of {} GB/s each way", link.kind, link.from, link.to,
                     percent_text(link.utilisation), percent_text(link.utilisation_back),
                     number_text(link.capacity.value() / 1e9));
}

NodeDrawing drawing_of(const NodeUse& node)
{
  NodeDrawing drawing;
  for (const NodeUse::Part& part : node.parts)
    drawing.parts.push_back({part.name, part.kind, part.utilisation});
  for (const NodeUse::Link& link : node.links)
    drawing.links.push_back({link.kind, link.from, link.to,
                             std::max(link.utilisation, link.utilisation_back), link_tip(link)});
  return drawing;
}

// "Busiest: pcie plx0 to socket0: 88 %, back 87 %, of 12.1 GB/s each way."
std::string busiest_text(const NodeDrawing& drawing)
{
  const auto busiest =
      std::max_element(drawing.links.begin(), drawing.links.end(),
                       [](const auto& a, const auto& b) { return a.utilisation < b.utilisation; });
  return busiest == drawing.links.end() || !(busiest->utilisation > 0)
             ? "No link of it carries anything."
             : "Its busiest link: " + busiest->tip + ".";
}

std::string node_html(const Report& report, const ReportRow& row, const NodeUse& node)
{
  NodeDrawing drawing = drawing_of(node);
  const std::string busiest = busiest_text(drawing);
  drawing.description = fmt::format("Node {}: {}", node.node, busiest);
  const std::string wide = node_drawing(drawing, 760);
  if (wide.empty())
    return "";
  const std::string label = report.label(row);
  return "<div>" + (label.empty() ? "" : "<h3>" + prose(label) + "</h3>") + "<p>" +
         prose(fmt::format("Node {}: {} of its CPU cores are busy. {}", node.node,
                           percent_text(node.cores), busiest)) +
         "</p><figure class=\"wide\">" + wide + "</figure><figure class=\"narrow\">" +
         node_drawing(drawing, 400) + "</figure></div>";
}

std::string legend()
{
  std::string html = "<ul class=\"legend\">";
  for (const auto& [share, words] :
       {std::pair{0.0, "below 5 %"}, std::pair{0.1, "to 25 %"}, std::pair{0.3, "to 50 %"},
        std::pair{0.6, "to 75 %"}, std::pair{0.9, "above"}})
    html += fmt::format("<li><svg class=\"swatch link {}\" width=\"22\" height=\"10\" "
                        "aria-hidden=\"true\"><path d=\"M0 5H22\"/></svg>{}</li>",
                        load_style(share), words);
  return html + "</ul>";
}

} // namespace

std::string node_section(const Report& report)
{
  std::vector<std::string> items;
  std::set<std::size_t> drawn;
  for (const Answer& answer : answers(report)) {
    const auto& node = answer.best->result->node;
    if (!node || !drawn.insert(answer.best->point).second)
      continue;
    if (std::string html = node_html(report, *answer.best, *node); !html.empty())
      items.push_back(std::move(html));
  }
  if (items.empty())
    return "";
  return section(
      "node", "Inside a node",
      "<p class=\"note\">The fastest point. Links are coloured by their busier direction, "
      "over the measured steps, with what all jobs move; point at one for both "
      "directions. Bars in boxes: arithmetic of GPUs, memory of sockets.</p>" +
          legend() + folded(items, kDrawnNodes, "<div class=\"nodes\">", "</div>"));
}

} // namespace foretrain::experiments
