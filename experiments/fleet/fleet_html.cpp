#include "experiments/fleet/fleet_html.hpp"

#include "experiments/fleet/fleet_text.hpp"
#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_bars.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

constexpr double kWidth = 960;       // of drawings, in their own units
constexpr double kAxis = 60;         // left of it labels stand
constexpr int kColumns = 450;        // of drawings over time: pieces that are told apart
constexpr int kMostRows = 256;       // of the Gantt chart: nodes beyond share rows
constexpr double kRow = 12;          // height of a node, where there are few
constexpr double kMostHeight = 1200; // of the Gantt chart
constexpr int kLooks = 7;            // t0-t6 of the page's style

class FleetPage {
public:
  FleetPage(const FleetAnswer& answer, const FleetRun& run)
      : answer_(answer), run_(run), begin_(run.result.start.value()),
        length_(std::max(1.0, (run.result.end - run.result.start).value()))
  {
  }

  std::string html() const
  {
    const std::string body =
        section("answer", "In short", lead()) + section("hours", "Where GPU hours went", hours()) +
        section("time", "Use and queue over time", over_time()) +
        section("gantt", "Who held which nodes", gantt()) +
        section("queues", "Queues", groups(answer_.by_queue, "queue")) +
        section("accounts", "Accounts",
                answer_.by_account.size() < 2 ? "" : groups(answer_.by_account, "account")) +
        section("sizes", "By GPUs", groups(answer_.by_size, "GPUs")) +
        section("trace", "The trace", trace());
    return page(answer_.fleet,
                "<p>" + escaped(fmt::format("{} GPUs, {}", answer_.gpus, answer_.policy)) + "</p>",
                body, "foretrain " + escaped(answer_.version));
  }

private:
  std::string drained() const
  {
    const auto& nodes = answer_.failures->drained;
    return nodes ? fmt::format("; {:.0f} nodes were drained", nodes->median) : "";
  }

  std::string lead() const
  {
    std::string text = "<p class=\"lead\">" +
                       prose(fmt::format("Jobs wait {} on average, nine of ten less than {}.",
                                         duration_text(answer_.wait_s.mean.median),
                                         duration_text(answer_.wait_s.p90.median))) +
                       "</p>";
    text += "<p>" +
            prose(fmt::format("{} jobs, {} completed, in {}; {} of the GPU time was held, {} was "
                              "productive.",
                              answer_.jobs.submitted, answer_.jobs.completed,
                              duration_text(answer_.makespan_s.median),
                              percent_of(answer_.utilisation.median),
                              percent_of(answer_.goodput.median))) +
            "</p>";
    if (answer_.failures)
      text += "<p>" +
              prose(fmt::format("{:.0f} failures interrupted jobs {:.0f} times{}.",
                                answer_.failures->failures.median,
                                answer_.failures->interruptions.median, drained())) +
              "</p>";
    return text;
  }

  std::string hours() const
  {
    double all = 0;
    for (const auto& [name, part] : fleet_hours_parts())
      all += std::max(0.0, (answer_.gpu_hours.*part).median);
    std::string rows;
    for (const auto& [name, part] : fleet_hours_parts())
      if (const double hours = (answer_.gpu_hours.*part).median; hours > 0 && all > 0)
        rows += bar_row(name, meter(hours / all, name),
                        fmt::format("{:.0f} h, {}", hours, percent_of(hours / all)));
    return rows;
  }

  double x_of(double time) const { return kAxis + (time - begin_) / length_ * (kWidth - kAxis); }

  std::string axis_of_time(double y) const
  {
    std::string text;
    for (int i = 0; i <= 4; ++i)
      text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>",
                          coordinate(kAxis + i * (kWidth - kAxis) / 4), coordinate(y),
                          i == 0   ? "start"
                          : i == 4 ? "end"
                                   : "middle",
                          escaped(duration_text(i * length_ / 4)));
    return text;
  }

  // The mean of a part of the moments in each column of the drawing.
  std::vector<double> by_column(int Moment::*member) const
  {
    std::vector<double> sums(kColumns, 0);
    const double step = length_ / kColumns;
    const auto& moments = run_.result.moments;
    for (std::size_t i = 0; i < moments.size(); ++i) {
      const double from = moments[i].time.value() - begin_;
      const double until = i + 1 < moments.size() ? moments[i + 1].time.value() - begin_ : length_;
      const int last = std::min(kColumns - 1, static_cast<int>(until / step));
      for (int column = std::max(0, static_cast<int>(from / step)); column <= last; ++column) {
        const double inside = std::min(until, (column + 1) * step) - std::max(from, column * step);
        sums[static_cast<std::size_t>(column)] += moments[i].*member * std::max(0.0, inside) / step;
      }
    }
    return sums;
  }

  std::string area(const std::vector<double>& values, double most, double top, double height,
                   int look) const
  {
    std::string svg = look_begin(look);
    const double step = (kWidth - kAxis) / kColumns;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (const double tall = height * values[i] / most; tall > 0)
        svg += rectangle(kAxis + static_cast<double>(i) * step, top + height - tall, step, tall);
    return svg + "</g>";
  }

  static std::string look_begin(int look) { return fmt::format("<g class=\"t{}\">", look); }
  static std::string rectangle(double x, double y, double width, double height)
  {
    return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", coordinate(x),
                       coordinate(y), coordinate(width), coordinate(height));
  }
  static std::string svg_begin(double height, const char* description)
  {
    return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" "
                       "class=\"over-time\">",
                       coordinate(kWidth), coordinate(height), description);
  }

  std::string over_time() const
  {
    if (run_.result.moments.empty())
      return "";
    const std::vector<double> busy = by_column(&Moment::busy),
                              waiting = by_column(&Moment::waiting);
    const double most = std::max(1.0, *std::max_element(waiting.begin(), waiting.end()));
    std::string svg = svg_begin(250, "GPUs in use and jobs that wait, over time");
    svg += area(busy, answer_.gpus, 14, 90, 0) + area(waiting, most, 130, 90, 1);
    svg += fmt::format(
        "<text x=\"0\" y=\"20\">{} GPUs</text><text x=\"0\" y=\"136\">{:.0f} wait</text>",
        answer_.gpus, most);
    return svg + axis_of_time(240) + "</svg>";
  }

  // Pieces of one look that follow each other without a gap that can be seen are one.
  std::string gantt() const
  {
    const int nodes = shape_nodes();
    if (run_.result.spans.empty() || nodes == 0)
      return "";
    const int rows = std::min(nodes, kMostRows);
    const double height = std::min(kRow, kMostHeight / rows);
    std::vector<std::vector<int>> cells(static_cast<std::size_t>(rows),
                                        std::vector<int>(kColumns, -1));
    const auto paint = [&](int node, double from, double until, int look) {
      auto& row = cells[static_cast<std::size_t>(static_cast<long long>(node) * rows / nodes)];
      const int first = static_cast<int>((from - begin_) / length_ * kColumns);
      const int last = static_cast<int>(std::ceil((until - begin_) / length_ * kColumns));
      for (int i = std::max(0, first); i < std::min(kColumns, last); ++i)
        row[static_cast<std::size_t>(i)] = look;
    };
    for (const HeldSpan& span : run_.result.spans)
      paint(span.slice.node, span.from.value(), span.until.value(),
            static_cast<int>(span.job % (kLooks - 1)));
    for (const DownSpan& down : run_.result.down)
      paint(down.node, down.from.value(), down.until.value(), kLooks - 1);
    const double whole = rows * height + 24;
    std::string svg = svg_begin(whole, "jobs on nodes over time");
    for (std::size_t row = 0; row < cells.size(); ++row)
      svg += pieces(cells[row], static_cast<double>(row) * height, height);
    svg += fmt::format("<text x=\"0\" y=\"10\">node 0</text><text x=\"0\" y=\"{}\">{}</text>",
                       coordinate(rows * height), nodes - 1);
    return svg + axis_of_time(whole - 6) + "</svg><ul class=\"legend\">" +
           legend_entry(fmt::format("t{}", kLooks - 1), "down") +
           "</ul><p>Other colours are jobs; where several share a piece the last one is shown.</p>";
  }

  std::string pieces(const std::vector<int>& row, double y, double height) const
  {
    std::string svg;
    const double step = (kWidth - kAxis) / kColumns;
    for (std::size_t i = 0; i < row.size();) {
      std::size_t end = i + 1;
      while (end < row.size() && row[end] == row[i])
        ++end;
      if (row[i] >= 0)
        svg += look_begin(row[i]) +
               rectangle(kAxis + static_cast<double>(i) * step, y,
                         static_cast<double>(end - i) * step, std::max(0.5, 0.9 * height)) +
               "</g>";
      i = end;
    }
    return svg;
  }

  int shape_nodes() const
  {
    int nodes = 0;
    for (const HeldSpan& span : run_.result.spans)
      nodes = std::max(nodes, span.slice.node + 1);
    return nodes;
  }

  std::string groups(const std::vector<std::pair<std::string, FleetGroup>>& entries,
                     const char* title) const
  {
    std::string rows;
    for (const auto& [name, group] : entries) {
      const double mean = group.wait_s.mean.median, p90 = group.wait_s.p90.median;
      rows += "<tr>" + cell(title, escaped(name)) +
              number_cell("jobs", std::to_string(group.jobs), group.jobs) +
              number_cell("GPU hours", fmt::format("{:.0f}", group.gpu_hours.median),
                          group.gpu_hours.median) +
              number_cell("mean wait", duration_text(mean), mean) +
              number_cell("p90 wait", duration_text(p90), p90) + "</tr>";
    }
    std::string head = fmt::format("<th scope=\"col\">{}</th>", title);
    for (const char* number : {"jobs", "GPU hours", "mean wait", "p90 wait"})
      head += fmt::format("<th scope=\"col\" class=\"number\">{}</th>", number);
    return "<table class=\"stacking\"><thead><tr>" + head + "</tr></thead><tbody>" + rows +
           "</tbody></table>";
  }

  std::string trace() const
  {
    if (!answer_.trace)
      return "";
    std::string items;
    for (const TraceNote& note : answer_.trace->notes)
      items += "<li>" + prose(fmt::format("{} {} (first: {})", note.jobs, note.what, note.first)) +
               "</li>";
    return "<p>" +
           prose(
               fmt::format("{} read, {} left out.", answer_.trace->read, answer_.trace->left_out)) +
           "</p><ul>" + items + "</ul>";
  }

  const FleetAnswer& answer_;
  const FleetRun& run_;
  double begin_, length_;
};

} // namespace

std::string fleet_html(const FleetAnswer& answer, const FleetRun& run)
{
  return FleetPage(answer, run).html();
}

} // namespace foretrain::experiments
