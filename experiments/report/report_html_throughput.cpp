#include "experiments/report/report_html_throughput.hpp"

#include "experiments/report/report_html_answer.hpp"
#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_bars.hpp"
#include "experiments/report/svg_chart.hpp"
#include "experiments/report/svg_text.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kMaxPanels = 12; // charts drawn at all

// "100 Gb/s" is 100 of unit "Gb/s"; a number has no unit; a word is no number.
struct MeasureView {
  double value = 0;
  std::string unit;
};

std::optional<MeasureView> measure_of(const Json& value)
{
  if (value.is_number())
    return MeasureView{value.get<double>(), ""};
  if (!value.is_string())
    return std::nullopt;
  const auto text = value.get<std::string>();
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != ' ' || text.find_first_of("0123456789") != 0)
    return std::nullopt;
  return MeasureView{number, end + 1};
}

// All values are numbers of one unit.
std::optional<std::string> common_unit(const std::vector<Json>& values)
{
  std::optional<std::string> unit;
  for (const Json& value : values) {
    const auto measure = measure_of(value);
    if (!measure || (unit && *unit != measure->unit))
      return std::nullopt;
    unit = measure->unit;
  }
  return unit;
}

bool ends_with(const std::string& text, std::string_view end)
{
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The setting to draw along: GPUs, else nodes, else the number with most values; empty if none.
std::string choose_axis(const Report& report)
{
  std::string axis;
  std::size_t best = 0;
  for (const std::string& pointer : report.varying()) {
    const auto values = report.values_of(pointer);
    if (!common_unit(values))
      continue;
    const std::size_t rank =
        std::min<std::size_t>(values.size(), 1000) + (ends_with(pointer, "/gpus")    ? 2000U
                                                      : ends_with(pointer, "/nodes") ? 1000U
                                                                                     : 0U);
    if (rank > best) {
      best = rank;
      axis = pointer;
    }
  }
  return axis;
}

std::string axis_title(const Report& report, const std::string& axis)
{
  if (ends_with(axis, "/gpus") && report.jobs().size() <= 1)
    return "GPUs";
  const auto unit = common_unit(report.values_of(axis)).value_or("");
  return report.short_name(axis) + (unit.empty() ? "" : ", " + unit);
}

// What divides curves into charts so that no chart holds more than can be told apart.
std::vector<std::string> choose_panels(const Report& report, const std::string& axis,
                                       std::size_t curves)
{
  std::vector<std::pair<std::size_t, std::string>> candidates;
  if (report.jobs().size() > 1)
    candidates.emplace_back(report.jobs().size(), "job");
  for (const std::string& pointer : report.varying())
    if (pointer != axis) // models first: their samples cannot be compared
      candidates.emplace_back(ends_with(pointer, "/model") ? 1 : report.values_of(pointer).size(),
                              pointer);
  std::stable_sort(candidates.begin() + (report.jobs().size() > 1 ? 1 : 0), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> panels;
  for (const auto& [count, name] : candidates) {
    if (curves <= kCurveLooks)
      break;
    panels.push_back(name);
    const std::size_t values = name == "job" ? report.jobs().size() : report.values_of(name).size();
    curves = (curves + values - 1) / values;
  }
  return panels;
}

std::string rate_text(const ReportRow& row, const OneUnit& unit)
{
  const Range& rate = unit.rate(*row.job);
  const std::string text =
      fmt::format("{} {} ({} to {})", number_text(rate.median, true), unit.name(),
                  number_text(rate.low, true), number_text(rate.high, true));
  return row.fits() ? text : text + ", does not fit";
}

Curve curve_of(const Report& report, Series series, const std::string& axis)
{
  const auto x = [&](const ReportRow* row) {
    const auto measure = measure_of(setting_at(*row, axis));
    return measure ? measure->value : 0.0;
  };
  std::stable_sort(series.begin(), series.end(),
                   [&](const ReportRow* a, const ReportRow* b) { return x(a) < x(b); });
  Curve curve;
  const OneUnit& unit = report.unit();
  for (const ReportRow* row : series) {
    const Range& y = unit.rate(*row->job);
    curve.points.push_back(
        {x(row), y.median, y.low, y.high, report.label(*row) + ": " + rate_text(*row, unit)});
  }
  const ReportRow& first = *series.front();
  if (axis == fmt::format("/jobs/{}/gpus", first.job_index) && !curve.points.empty()) {
    const double speedup = first.job->speedup;
    curve.ideal_slope = curve.points.front().y / (speedup > 0 ? speedup : x(&first));
  }
  return curve;
}

struct Panel {
  std::string title;
  LineChart chart;
  std::vector<std::string> labels; // of its curves
};

std::vector<Panel> panels_of(const Report& report, const std::string& axis)
{
  const auto all = series_along(report, axis);
  auto inside = choose_panels(report, axis, all.size());
  inside.push_back(axis); // what curve labels leave out
  auto outside = report.varying();
  outside.emplace_back("job");
  std::erase_if(outside, [&](const std::string& name) {
    return name != axis && std::find(inside.begin(), inside.end(), name) != inside.end();
  });
  std::vector<Panel> panels;
  std::map<std::string, std::size_t> panel_of;
  std::map<std::string, std::size_t> look_of;
  for (const Series& series : all) {
    const std::string title = inside.size() > 1 ? report.label(*series.front(), outside) : "";
    const auto [found, is_new] = panel_of.try_emplace(title, panels.size());
    if (is_new)
      panels.push_back({title, {}, {}});
    Panel& panel = panels[found->second];
    Curve curve = curve_of(report, series, axis);
    const std::string label = report.label(*series.front(), inside);
    curve.look = look_of.try_emplace(label, look_of.size()).first->second;
    panel.chart.curves.push_back(std::move(curve));
    panel.labels.push_back(label);
  }
  return panels;
}

double highest(const Panel& panel)
{
  double y = 0;
  for (const Curve& curve : panel.chart.curves)
    for (const CurvePoint& point : curve.points)
      y = std::max(y, point.high);
  return y;
}

void describe_panel(Panel& panel, const std::string& x_title, const std::string& unit)
{
  std::vector<std::string> words;
  for (std::size_t i = 0; i < panel.labels.size(); ++i)
    if (const auto& points = panel.chart.curves[i].points; !points.empty())
      words.push_back(fmt::format("{} from {} at {} to {} at {}", panel.labels[i],
                                  number_text(points.front().y, true), tick_text(points.front().x),
                                  number_text(points.back().y, true), tick_text(points.back().x)));
  panel.chart.x_title = x_title;
  panel.chart.y_title = unit;
  panel.chart.description =
      fmt::format("{} {} over {}: {}", panel.title, unit, x_title, joined(words, "; "));
}

std::string legend(const std::vector<Panel>& panels, bool ideal)
{
  std::map<std::size_t, std::string> labels;
  for (const Panel& panel : panels)
    for (std::size_t i = 0; i < panel.labels.size(); ++i)
      labels.emplace(panel.chart.curves[i].look, panel.labels[i]);
  std::string html = "<ul class=\"legend\">";
  if (labels.size() > 1)
    for (const auto& [look, label] : labels)
      html += "<li>" + curve_swatch(look) + escaped(label) + "</li>";
  if (ideal)
    html += "<li><svg class=\"swatch\" width=\"34\" height=\"14\" aria-hidden=\"true\"><path "
            "class=\"ideal\" d=\"M1 7H33\"/></svg>ideal: every GPU as fast as one alone</li>";
  return html + "</ul>";
}

bool coincide(const Curve& a, const Curve& b)
{
  return std::equal(a.points.begin(), a.points.end(), b.points.begin(), b.points.end(),
                    [](const CurvePoint& p, const CurvePoint& q) {
                      return p.x == q.x && std::abs(p.y - q.y) <= 1e-9 * std::abs(p.y);
                    });
}

// Of curves that coincide only the last one can be seen: says so.
std::vector<std::string> hidden_curves(const Panel& panel)
{
  std::vector<std::string> sentences;
  std::set<std::size_t> told;
  for (std::size_t i = 0; i < panel.labels.size(); ++i) {
    std::vector<std::string> same;
    for (std::size_t j = i; j < panel.labels.size(); ++j)
      if (coincide(panel.chart.curves[i], panel.chart.curves[j]) && told.insert(j).second)
        same.push_back(panel.labels[j]);
    if (same.size() > 1)
      sentences.push_back((panel.title.empty() ? "" : panel.title + ": ") + joined(same, " and ") +
                          " coincide.");
  }
  return sentences;
}

std::string notes(const Report& report, const std::vector<Panel>& panels)
{
  auto sentences = report.linked_sentences();
  for (const Panel& panel : panels)
    for (const std::string& sentence : hidden_curves(panel))
      sentences.push_back(sentence);
  return sentences.empty() ? "" : "<p class=\"note\">" + escaped(joined(sentences, " ")) + "</p>";
}

std::string curves(const Report& report, const std::string& axis)
{
  auto panels = panels_of(report, axis);
  double top = 0;
  double least = 0;
  for (const Panel& panel : panels) {
    top = std::max(top, highest(panel));
    least = least > 0 ? std::min(least, highest(panel)) : highest(panel);
  }
  const bool one_scale = panels.size() > 1 && top < 5 * least;
  bool ideal = false;
  for (Panel& panel : panels) {
    describe_panel(panel, axis_title(report, axis), report.unit().name());
    panel.chart.y_least = one_scale ? top : 0;
    if (panel.chart.curves.size() > 4) // more ideal lines would hide the curves: keep the steepest
      for (Curve& curve : panel.chart.curves)
        for (const Curve& other : panel.chart.curves)
          if (other.ideal_slope > curve.ideal_slope)
            curve.ideal_slope = 0;
    for (const Curve& curve : panel.chart.curves)
      ideal = ideal || curve.ideal_slope > 0;
  }
  std::string html =
      fmt::format("<p class=\"note\">Bars through the points: {} interval.{}</p>",
                  report.interval(),
                  panels.size() > 1 && !one_scale ? " Each chart has its own scale." : "") +
      notes(report, panels) + legend(panels, ideal);
  if (panels.size() == 1)
    return html + "<figure class=\"wide\">" + line_chart(panels[0].chart, 1040, 420) +
           "</figure><figure class=\"narrow\">" + line_chart(panels[0].chart, 400, 330) +
           "</figure>";
  html += "<div class=\"panels\">";
  for (std::size_t i = 0; i < std::min(panels.size(), kMaxPanels); ++i)
    html += "<figure><figcaption>" + escaped(panels[i].title) + "</figcaption>" +
            line_chart(panels[i].chart, 500, 330) + "</figure>";
  html += "</div>";
  if (panels.size() > kMaxPanels)
    html +=
        fmt::format("<p class=\"note\">{} more charts are not drawn; all numbers are in the table "
                    "below.</p>",
                    panels.size() - kMaxPanels);
  return html;
}

// The bars of one job and one model, on a scale of their own: samples of others cannot be compared.
std::string bars_of(const Report& report, const Series& rows, std::size_t look,
                    const std::string& model)
{
  double top = 0;
  const OneUnit& unit = report.unit();
  for (const ReportRow* row : rows)
    top = std::max({top, unit.rate(*row->job).high, unit.rate_alone(*row->job)});
  std::vector<std::string> items;
  for (const ReportRow* row : rows) {
    const Range& rate = unit.rate(*row->job);
    const double alone = unit.rate_alone(*row->job);
    const ValueBar bar{rate.median / top, rate.low / top, rate.high / top, alone / top, look};
    const std::string label = report.label(*row);
    items.push_back(
        bar_row(model.empty() ? label : report.label(*row, {model}),
                value_bar(bar, label + ": " + rate_text(*row, unit) +
                                   (row->job->alone ? ", alone " + number_text(alone, true) : "")),
                number_text(rate.median, true) + (row->fits() ? "" : ", does not fit")));
  }
  return items.empty() ? "" : folded(items, 40, "<div class=\"rows\">", "</div>");
}

std::string job_bars(const Report& report, std::size_t job)
{
  const std::string pointer = fmt::format("/jobs/{}/model", job);
  const auto& varying = report.varying();
  const bool models = std::find(varying.begin(), varying.end(), pointer) != varying.end();
  std::vector<std::string> order;
  std::map<std::string, Series> rows; // by model
  for (const ReportRow& row : report.rows())
    if (row.job && row.name == report.jobs()[job] && row.job->throughput.median > 0) {
      const std::string model = models ? report.setting_text(row, pointer) : "";
      if (rows.count(model) == 0)
        order.push_back(model);
      rows[model].push_back(&row);
    }
  std::string html;
  for (const std::string& model : order)
    html += (models ? "<h3>" + escaped(model) + "</h3>" : "") +
            bars_of(report, rows.at(model), job, models ? pointer : "");
  return html;
}

std::string rate_bars(const Report& report)
{
  const bool alone = std::any_of(report.rows().begin(), report.rows().end(),
                                 [](const ReportRow& row) { return row.job && row.job->alone; });
  const bool models = std::any_of(report.varying().begin(), report.varying().end(),
                                  [](const auto& pointer) { return pointer.ends_with("/model"); });
  std::string html = fmt::format(
      "<p class=\"note\">{}; whiskers: {} interval.{}{}</p>", report.unit().sentence(),
      report.interval(), alone ? " The upright line is the job running alone." : "",
      report.jobs().size() > 1 || models ? " Each job and each model has its own scale." : "");
  for (std::size_t i = 0; i < report.jobs().size(); ++i)
    html += job_bars(report, i);
  return html;
}

} // namespace

std::string throughput_section(const Report& report)
{
  const auto rated = std::count_if(report.rows().begin(), report.rows().end(),
                                   [](const ReportRow& row) { return row.job != nullptr; });
  if (rated < 2)
    return "";
  const std::string axis = choose_axis(report);
  return section("throughput",
                 axis.empty() ? "Throughput" : "Throughput over " + axis_title(report, axis),
                 axis.empty() ? rate_bars(report) : curves(report, axis));
}

} // namespace foretrain::experiments
