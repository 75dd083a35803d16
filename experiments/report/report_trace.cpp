#include "experiments/report/report_trace.hpp"

#include "sim/base/quantity_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <regex>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kKernelsShown = 15;
constexpr std::size_t kNameShown = 72;

struct TracePart {
  const char* name;
  double models::TraceSummary::*value;
};

// They add up to the length of a step.
constexpr std::array<TracePart, 5> kTraceParts{
    {{"compute", &models::TraceSummary::compute},
     {"exposed communication", &models::TraceSummary::exposed},
     {"copies", &models::TraceSummary::copies},
     {"input wait", &models::TraceSummary::input},
     {"idle", &models::TraceSummary::idle}}};

double total(const models::TraceSummary& t)
{
  double sum = 0;
  for (const TracePart& part : kTraceParts)
    sum += t.*part.value;
  return sum;
}

std::string size_text(double bytes)
{
  return bytes > 0 ? to_text(Bytes(bytes)) : "not told";
}

// Where a kernel's whole name is a page of templates: without what it returns and takes, each name
// with its innermost namespace, and of that the beginning.
std::string short_name(const std::string& name)
{
  if (name.size() <= kNameShown)
    return name;
  static const std::regex unnamed("^void |[(]anonymous.*?[)]::"), outer("(?:\\w+::)+(?=\\w+::)");
  std::string shown = std::regex_replace(name, unnamed, "");
  int depth = 0;
  const auto takes = std::find_if(shown.begin(), shown.end(), [&depth](char c) {
    depth += (c == '<') - (c == '>');
    return c == '(' && depth == 0;
  });
  shown = std::regex_replace(std::string(shown.begin(), takes), outer, "");
  return shown.size() <= kNameShown ? shown : shown.substr(0, kNameShown - 3) + "...";
}

std::string html_text(const std::string& text)
{
  std::string safe;
  for (const char c : text)
    safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return safe;
}

std::string key_of(const char* name)
{
  std::string key(name);
  std::replace(key.begin(), key.end(), ' ', '_');
  return key + "_s";
}

std::string row(const std::vector<std::string>& cells, const char* tag = "td")
{
  std::string text = "<tr>";
  for (const std::string& cell : cells)
    text += fmt::format("<{0}>{1}</{0}>", tag, html_text(cell));
  return text + "</tr>\n";
}

// Cells of a collective: what the recording tells, then what the platform would do.
std::vector<std::string> collective_cells(const models::CollectiveSum& one)
{
  return {one.kind,
          size_text(one.bytes),
          std::to_string(one.group),
          std::to_string(one.count),
          fmt::format("{:.3f}", one.seconds * 1e3),
          fmt::format("{:.3f}", one.mean * 1e3),
          one.bus_rate > 0 ? fmt::format("{:.2f}", one.bus_rate / 1e9) : "-"};
}

std::vector<std::string> predicted_cells(const models::CollectiveSum& one,
                                         const PredictedCollective& there)
{
  if (there.seconds <= 0)
    return {"-", "-", "-"};
  return {fmt::format("{:.3f}", there.seconds * 1e3), fmt::format("{:.2f}", there.bus_rate / 1e9),
          one.seconds > 0 ? fmt::format("{:.2f}", there.seconds / one.seconds) : "-"};
}

// Titles first, then a row for each collective.
std::vector<std::vector<std::string>> collective_table(const models::TraceSummary& t,
                                                       const TracePrediction* there)
{
  std::vector<std::vector<std::string>> rows{
      {"collective", "size", "ranks", "count", "shortest ms", "mean ms", "bus GB/s"}};
  for (const auto& one : t.collectives)
    rows.push_back(collective_cells(one));
  if (there == nullptr)
    return rows;
  rows[0].insert(rows[0].end(), {"predicted ms", "bus GB/s", "ratio"});
  for (std::size_t i = 0; i < t.collectives.size(); ++i)
    for (std::string& cell : predicted_cells(t.collectives[i], there->collectives[i]))
      rows[i + 1].push_back(std::move(cell));
  return rows;
}

std::string collective_text(const models::TraceSummary& t, const TracePrediction* there)
{
  if (t.collectives.empty())
    return "";
  constexpr std::array<int, 10> kWidths{15, 10, 6, 6, 11, 11, 11, 12, 9, 6};
  std::string text = "\n";
  if (there != nullptr)
    text += fmt::format("on the right: alone on {}; ratio: predicted time / shortest\n",
                        there->platform);
  for (const auto& cells : collective_table(t, there)) {
    text += fmt::format("{:<{}}", cells[0], kWidths[0]);
    for (std::size_t i = 1; i < cells.size(); ++i)
      text += fmt::format(" {:>{}}", cells[i], kWidths[i]);
    text += "\n";
  }
  return text;
}

} // namespace

std::string trace_text(const models::TraceSummary& t, const TracePrediction* there)
{
  std::string text = fmt::format("{}: {}", t.file, t.format);
  if (!t.device.empty())
    text += ", " + t.device;
  if (t.world > 1)
    text += fmt::format(", rank {} of {}", t.rank, t.world);
  text += t.steps_by.empty() ? "\nno steps were found: the whole recording counts as one\n"
                             : fmt::format("\n{} whole step{} by {}\n", t.steps,
                                           t.steps == 1 ? "" : "s", t.steps_by);
  text += fmt::format("\nstep time {:.3f} ms{}, on average:\n", t.step * 1e3,
                      t.steps < 3 ? "" : fmt::format(" (variation {:.1f} %)", t.variation * 100));
  const double all = total(t);
  for (const TracePart& part : kTraceParts)
    text += fmt::format("  {:<22} {:>10.3f} ms  {:>5.1f} %\n", part.name, t.*part.value * 1e3,
                        all > 0 ? 100 * (t.*part.value) / all : 0.0);
  text += fmt::format("  {:<22} {:>10.3f} ms  (beside compute)\n", "hidden communication",
                      t.hidden * 1e3);
  text += fmt::format("\n{:.0f} kernels and copies per step; {:.2f} us between two that follow at "
                      "once, {:.2f} us from a call to its kernel on an idle device\n",
                      t.kernels, t.gap * 1e6, t.launch_delay * 1e6);
  if (!t.slowdowns.empty())
    text += "\nkernels beside a collective, against the same ones alone\n";
  for (const auto& slow : t.slowdowns)
    text += fmt::format("  {:<14} {:>6} kernels  {:.3f} times, {:+.2f} us each\n", slow.what,
                        slow.kernels, slow.factor, slow.added * 1e6);
  text += collective_text(t, there);
  text += fmt::format("\n{:<60} {:<10} {:>8} {:>10}\n", "kernel", "class", "per step", "ms/step");
  for (std::size_t i = 0; i < std::min(kKernelsShown, t.top.size()); ++i)
    text += fmt::format("{:<60} {:<10} {:>8.1f} {:>10.3f}\n", short_name(t.top[i].name),
                        name_of(t.top[i].kind), t.top[i].count, t.top[i].seconds * 1e3);
  for (const std::string& note : t.notes)
    text += "note: " + note + "\n";
  if (there != nullptr)
    for (const std::string& note : there->notes)
      text += "note: " + note + "\n";
  return text;
}

Json trace_json(const models::TraceSummary& t, const TracePrediction* there)
{
  Json parts = Json::object();
  for (const TracePart& part : kTraceParts)
    parts[key_of(part.name)] = t.*part.value;
  Json json = {{"file", t.file},
               {"format", t.format},
               {"device", t.device},
               {"rank", t.rank},
               {"world_size", t.world},
               {"steps", t.steps},
               {"steps_found_by", t.steps_by},
               {"step_time_s", t.step},
               {"variation", t.variation},
               {"time_s", parts},
               {"hidden_communication_s", t.hidden},
               {"busy_fraction", total(t) > 0 ? 1 - (t.input + t.idle) / total(t) : 0},
               {"kernels_per_step", t.kernels},
               {"launch_delay_s", t.launch_delay},
               {"gap_s", t.gap}};
  json["collectives"] = Json::array();
  for (const auto& one : t.collectives)
    json["collectives"].push_back({{"kind", one.kind},
                                   {"bytes", one.bytes},
                                   {"group", one.group},
                                   {"count", one.count},
                                   {"shortest_s", one.seconds},
                                   {"mean_s", one.mean},
                                   {"busbw_GB_per_s", one.bus_rate / 1e9}});
  if (there != nullptr) {
    json["platform"] = there->platform;
    for (std::size_t i = 0; i < t.collectives.size(); ++i)
      if (const PredictedCollective& it = there->collectives[i]; it.seconds > 0)
        json["collectives"][i]["predicted"] = {
            {"nodes", it.nodes}, {"time_s", it.seconds}, {"busbw_GB_per_s", it.bus_rate / 1e9}};
  }
  json["overlap"] = Json::array();
  for (const auto& slow : t.slowdowns)
    json["overlap"].push_back({{"kernels", slow.what},
                               {"count", slow.kernels},
                               {"factor", slow.factor},
                               {"added_s", slow.added}});
  json["kernels"] = Json::array();
  for (const auto& kernel : t.top)
    json["kernels"].push_back({{"name", kernel.name},
                               {"class", name_of(kernel.kind)},
                               {"per_step", kernel.count},
                               {"seconds_per_step", kernel.seconds}});
  json["notes"] = t.notes;
  if (there != nullptr)
    for (const std::string& note : there->notes)
      json["notes"].push_back(note);
  return json;
}

std::string trace_html(const models::TraceSummary& t, const TracePrediction* there)
{
  std::string html = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>" +
                     html_text(t.file) +
                     "</title><style>body{font:14px sans-serif;margin:2em;max-width:70em}"
                     "table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .8em;"
                     "border-bottom:1px solid #ccc;text-align:left}.bar{display:flex;height:2em}"
                     "</style>\n";
  html += "<h1>" + html_text(t.file) + "</h1>\n<p>" +
          html_text(fmt::format("{}, {}; {} step{}, {:.3f} ms", t.format, t.device, t.steps,
                                t.steps == 1 ? "" : "s", t.step * 1e3)) +
          "</p>\n<div class=\"bar\">";
  constexpr std::array<const char*, 5> kColours{"#3b7dd8", "#d8553b", "#8a63d2", "#e0a526",
                                                "#cccccc"};
  for (std::size_t i = 0; i < kTraceParts.size(); ++i)
    if (const double value = t.*kTraceParts[i].value; value > 0)
      html += fmt::format("<div title=\"{} {:.3f} ms\" style=\"background:{};flex:{:.6f}\"></div>",
                          kTraceParts[i].name, value * 1e3, kColours[i], value);
  html += "</div>\n<table>" + row({"part of a step", "ms"}, "th");
  for (const TracePart& part : kTraceParts)
    html += row({part.name, fmt::format("{:.3f}", t.*part.value * 1e3)});
  html += row({"hidden communication", fmt::format("{:.3f}", t.hidden * 1e3)}) + "</table>\n";
  if (!t.collectives.empty()) {
    if (there != nullptr)
      html += "<p>" + html_text("On the right: alone on " + there->platform) + "</p>";
    html += "<table>";
    const auto table = collective_table(t, there);
    for (std::size_t i = 0; i < table.size(); ++i)
      html += row(table[i], i == 0 ? "th" : "td");
    html += "</table>\n";
  }
  html += "<table>" + row({"kernel", "class", "per step", "ms per step"}, "th");
  for (const auto& kernel : t.top)
    html += row({kernel.name, name_of(kernel.kind), fmt::format("{:.1f}", kernel.count),
                 fmt::format("{:.3f}", kernel.seconds * 1e3)});
  html += "</table>\n<ul>";
  for (const std::string& note : t.notes)
    html += "<li>" + html_text(note) + "</li>";
  if (there != nullptr)
    for (const std::string& note : there->notes)
      html += "<li>" + html_text(note) + "</li>";
  return html + "</ul></html>\n";
}

namespace {

struct Difference {
  std::string name;
  double a = 0, b = 0;
};

std::vector<Difference> differences(const models::TraceSummary& a, const models::TraceSummary& b)
{
  std::map<std::string, Difference> kernels;
  for (const auto& kernel : a.top)
    kernels[kernel.name].a = kernel.seconds;
  for (const auto& kernel : b.top)
    kernels[kernel.name].b = kernel.seconds;
  std::vector<Difference> list;
  for (auto& [name, difference] : kernels) {
    difference.name = name;
    list.push_back(std::move(difference));
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& x, const auto& y) {
    return std::abs(x.a - x.b) > std::abs(y.a - y.b);
  });
  return list;
}

} // namespace

std::string trace_diff_text(const models::TraceSummary& a, const models::TraceSummary& b)
{
  std::string text = fmt::format("A: {}\nB: {}\n\n{:<24} {:>12} {:>12} {:>9}\n", a.file, b.file,
                                 "per step", "A ms", "B ms", "B/A");
  const auto line = [&text](const std::string& name, double x, double y) {
    text += fmt::format("{:<24} {:>12.3f} {:>12.3f} {:>9}\n", name, x * 1e3, y * 1e3,
                        x > 0 ? fmt::format("{:.3f}", y / x) : "-");
  };
  line("step time", a.step, b.step);
  for (const TracePart& part : kTraceParts)
    line(part.name, a.*part.value, b.*part.value);
  line("hidden communication", a.hidden, b.hidden);
  text += fmt::format("\n{:<60} {:>10} {:>10} {:>10}\n", "kernel", "A ms", "B ms", "B - A");
  const auto list = differences(a, b);
  for (std::size_t i = 0; i < std::min(kKernelsShown, list.size()); ++i)
    text += fmt::format("{:<60} {:>10.3f} {:>10.3f} {:>+10.3f}\n", short_name(list[i].name),
                        list[i].a * 1e3, list[i].b * 1e3, (list[i].b - list[i].a) * 1e3);
  return text;
}

Json trace_diff_json(const models::TraceSummary& a, const models::TraceSummary& b)
{
  Json kernels = Json::array();
  for (const Difference& difference : differences(a, b))
    kernels.push_back({{"name", difference.name}, {"a_s", difference.a}, {"b_s", difference.b}});
  return {{"a", trace_json(a)}, {"b", trace_json(b)}, {"kernels", std::move(kernels)}};
}

} // namespace foretrain::experiments
