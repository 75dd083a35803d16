#include "experiments/report/report_table.hpp"

#include "experiments/report/report_certainty.hpp"
#include "experiments/report/report_html_answer.hpp"
#include "experiments/report/report_html_rows.hpp"
#include "experiments/report/report_html_sharing.hpp"
#include "experiments/report/svg_text.hpp"
#include "experiments/report/text_table.hpp"
#include "sim/base/json_text.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kPointsShared = 6; // whose joint score is told

constexpr std::size_t kShortText = 20;
constexpr std::size_t kLongestLimit = 28; // "network of the file servers"

struct Layout {
  std::size_t shares = 2; // how many parts of the step time are named
  std::size_t text = 28;  // columns for a setting or resource
  bool nodes = true;
  bool speedup = true; // efficiency times GPUs
  /// Columns for what limits: names are cut last.
  std::size_t limit() const { return text < kShortText ? text : std::max(text, kLongestLimit); }
};

std::string largest_parts(const Report& report, const ReportRow& row, std::size_t count)
{
  std::vector<std::pair<double, std::string>> parts;
  double total = 0;
  for (const TimePart& part : report.parts()) {
    const double seconds = part.of(*row.job).value_or(0);
    total += seconds;
    parts.emplace_back(seconds, part.brief);
  }
  std::stable_sort(parts.begin(), parts.end(), [](auto& a, auto& b) { return a.first > b.first; });
  std::vector<std::string> words;
  for (const auto& [seconds, name] : parts)
    if (words.size() < count && seconds >= 0.005 * total && total > 0)
      words.push_back(fmt::format("{} {:.0f}", name, 100 * seconds / total));
  return joined(words);
}

std::string shown(std::optional<double> value, double factor = 1)
{
  return value ? number_text(factor * *value) : "-";
}

std::string shown(const std::optional<Range>& range)
{
  return range ? number_text(range->median) : "-";
}

// Settings worth a column: those that vary, unless the GPUs column says the same.
std::vector<std::string> shown_settings(const Report& report)
{
  std::vector<std::string> pointers;
  for (const std::string& pointer : report.varying())
    if (report.jobs().size() > 1 || pointer != "/jobs/0/gpus")
      pointers.push_back(pointer);
  return pointers;
}

// Whether some result has it.
template <class T>
bool any(const Report& report, std::optional<T> JobResult::*member)
{
  return std::any_of(report.rows().begin(), report.rows().end(), [&](const ReportRow& row) {
    return row.job && (row.job->*member).has_value();
  });
}

// "foreground model", or "model" where that is too long: the last word tells columns apart.
std::string setting_heading(const std::string& name, std::size_t columns)
{
  const bool fits = width_of(name) <= columns;
  return clipped(fits ? name : name.substr(name.find_last_of(' ') + 1), columns);
}

TextTable cells_of(const Report& report, const Layout& layout)
{
  TextTable cells;
  const auto settings = shown_settings(report);
  const bool slowdown = any(report, &JobResult::slowdown);
  for (const std::string& pointer : settings)
    cells.header.push_back(setting_heading(report.short_name(pointer), layout.text));
  if (report.jobs().size() > 1)
    cells.header.emplace_back("job");
  cells.texts = cells.header.size();
  cells.header.emplace_back("GPUs");
  if (layout.nodes)
    cells.header.emplace_back("nodes");
  cells.header.emplace_back("samples/s");
  cells.header.push_back(report.interval() + " int.");
  cells.header.emplace_back("step ms");
  const bool tokens = any(report, &JobResult::tokens_per_s);
  if (tokens)
    for (const char* heading : {"tokens/s", "MFU %", "mem GB"})
      cells.header.emplace_back(heading);
  const bool days = any(report, &JobResult::days);
  const bool cost = any(report, &JobResult::cost);
  if (days)
    cells.header.emplace_back("days");
  if (cost)
    cells.header.emplace_back("cost");
  if (layout.speedup)
    cells.header.emplace_back("speedup");
  cells.header.emplace_back("eff %");
  if (slowdown)
    cells.header.emplace_back("slower");
  cells.header.emplace_back(layout.shares > 0 ? "time %" : "");
  cells.header.emplace_back("limited by");
  for (const ReportRow& row : report.rows()) {
    std::vector<std::string> line;
    for (const std::string& pointer : settings)
      line.push_back(clipped(report.setting_text(row, pointer), layout.text));
    if (report.jobs().size() > 1)
      line.push_back(clipped(row.name, layout.text));
    if (!row.job) {
      const Json& gpus = setting_at(row, "/jobs/0/gpus");
      line.push_back(gpus.is_null() ? "-" : value_text(gpus));
      line.push_back("failed: " + clipped(row.error, 60));
      cells.lines.push_back(line);
      continue;
    }
    const JobResult& job = *row.job;
    line.push_back(std::to_string(job.gpus));
    if (layout.nodes)
      line.push_back(std::to_string(job.nodes));
    line.push_back(number_text(job.throughput.median));
    line.push_back(number_text(job.throughput.low) + "-" + number_text(job.throughput.high));
    line.push_back(number_text(1e3 * job.step_time.median));
    if (tokens) {
      line.push_back(shown(job.tokens_per_s));
      line.push_back(job.mfu ? number_text(100 * job.mfu->share.full) : "-");
      line.push_back(number_text(1e-9 * job.memory.needed.value()));
    }
    if (days)
      line.push_back(shown(job.days));
    if (cost)
      line.push_back(shown(job.cost));
    if (layout.speedup)
      line.push_back(number_text(job.speedup));
    line.push_back(fmt::format("{:.0f}", 100 * job.efficiency));
    if (slowdown)
      line.push_back(shown(job.slowdown));
    line.push_back(largest_parts(report, row, layout.shares));
    line.push_back(clipped(row.limit(), layout.limit()));
    cells.lines.push_back(line);
  }
  return cells;
}

// What every line has alike in a column that may be told once, as text.
std::string alike_in(const TextTable& cells, std::size_t column)
{
  constexpr auto kMayLeave = std::to_array<const char*>({"GPUs", "nodes", "mem GB"});
  if (std::find(kMayLeave.begin(), kMayLeave.end(), cells.header[column]) == kMayLeave.end())
    return "";
  const std::string& first = cells.lines.front()[column];
  const bool alike = std::all_of(cells.lines.begin(), cells.lines.end(),
                                 [&](const auto& line) { return line[column] == first; });
  return alike ? first : "";
}

// Takes out numbers that are alike in all lines until the table fits, and says them.
std::string take_alike(TextTable& cells, std::size_t columns)
{
  std::string told;
  const bool whole = std::all_of(cells.lines.begin(), cells.lines.end(), [&](const auto& line) {
    return line.size() == cells.header.size();
  });
  if (!whole || cells.lines.size() < 2)
    return told;
  for (std::size_t i = cells.texts; i + 2 < cells.header.size() && width_of(cells) > columns;) {
    const std::string value = alike_in(cells, i);
    if (value.empty()) {
      ++i;
      continue;
    }
    told += fmt::format("{}{} {}", told.empty() ? "" : ", ", cells.header[i], value);
    cells.header.erase(cells.header.begin() + static_cast<std::ptrdiff_t>(i));
    for (auto& line : cells.lines)
      line.erase(line.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return told;
}

struct FittedTable {
  TextTable cells;
  std::string alike; // "GPUs 64, mem GB 46.2": left out
};

// The most telling layout that fits.
FittedTable fitted(const Report& report, std::size_t columns)
{
  FittedTable table;
  for (const Layout layout :
       {Layout{2, 32, true, true}, Layout{2, 20, true, true}, Layout{2, 20, false, true},
        Layout{1, 20, false, true}, Layout{1, 20, false, false}, Layout{1, 14, false, false},
        Layout{0, 14, false, false}}) {
    table.cells = cells_of(report, layout);
    table.alike = take_alike(table.cells, columns);
    if (width_of(table.cells) <= columns)
      break;
  }
  return table;
}

// Escape sequences, or nothing.
struct Paint {
  bool on;
  std::string bold(const std::string& text) const
  {
    return on ? "\x1b[1m" + text + "\x1b[0m" : text;
  }
  std::string warn(const std::string& text) const
  {
    return on ? "\x1b[33m" + text + "\x1b[0m" : text;
  }
};

// One line per resource that limits something: how often, and the last reason given for it.
std::string reasons(const Report& report, std::size_t columns, const Paint& paint)
{
  std::vector<std::string> order;
  std::map<std::string, std::vector<const ReportRow*>> limits;
  std::size_t results = 0;
  const auto& rows = report.rows();
  const bool some_fit =
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.job && row.fits(); });
  for (const ReportRow& row : rows) {
    const std::string limit = row.limited_by();
    results += row.job ? 1 : 0;
    if (limit.empty() || (some_fit && !row.fits()))
      continue;
    std::vector<const ReportRow*>& limited = limits[limit];
    if (limited.empty())
      order.push_back(limit);
    limited.push_back(&row);
  }
  std::string text = order.empty() ? "" : "\n" + paint.bold("What limits it") + "\n";
  for (const std::string& limit : order) {
    const ReportRow& last = *limits.at(limit).back();
    std::string reason = limit;
    if (results > 1)
      reason += fmt::format(" ({} of {} lines)", limits.at(limit).size(), results);
    if (const std::string& why = last.job->bottleneck.why; !why.empty())
      reason += ": " + (results > 1 ? report.label(last) + ": " : "") + why;
    text += item_text(reason, columns);
  }
  return text;
}

std::string in_short(const Report& report, std::size_t columns, const Paint& paint)
{
  std::string text;
  for (const Answer& answer : answers(report)) {
    text += "\n" + paint.bold(answer.subject.empty() ? "In short" : "In short: " + answer.subject) +
            "\n";
    for (const std::string& sentence : answer.sentences)
      if (sentence.rfind("Limited by", 0) != 0) // said above
        text += item_text(sentence, columns);
  }
  return text;
}

// All jobs of a point together, the costliest points first.
std::string sharing_text(const Report& report, std::size_t columns, const Paint& paint)
{
  struct Shared {
    double slowdown;
    std::string words;
  };
  std::vector<Shared> points;
  std::set<std::size_t> told;
  for (const ReportRow& row : report.rows()) {
    if (!row.job || !told.insert(row.point).second)
      continue;
    const auto& joint = row.result->joint;
    if (!joint)
      continue;
    const std::string words = joint_words(*joint);
    const std::string label = report.label(row, {"job"});
    points.push_back(
        {joint->weighted_slowdown, label.empty() ? words : label + ": t" + words.substr(1)});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const Shared& a, const Shared& b) { return a.slowdown > b.slowdown; });
  std::string text = points.empty() ? "" : "\n" + paint.bold("What sharing costs") + "\n";
  for (std::size_t i = 0; i < std::min(points.size(), kPointsShared); ++i)
    text += item_text(points[i].words, columns);
  if (points.size() > kPointsShared)
    text += item_text(fmt::format("and {} points that lose less", points.size() - kPointsShared),
                      columns);
  return text;
}

std::string certainty_text(const Report& report, std::size_t columns, const Paint& paint)
{
  std::string items;
  for (const std::string& sentence : certainty(report))
    items += item_text(sentence, columns);
  return items.empty() ? "" : "\n" + paint.bold("How sure") + "\n" + items;
}

std::string warnings_text(const Report& report, std::size_t columns, const Paint& paint)
{
  std::string items;
  for (const ReportWarning& warning : report.warnings()) {
    std::string words = warning.text;
    if (!warning.points.empty() && report.points() > 1)
      words += " (" + report.points_text(warning.points) + ")";
    items += item_text(words, columns);
  }
  for (const std::string& sentence : without_effect(report))
    items += item_text(sentence, columns);
  return items.empty() ? "" : "\n" + paint.bold(paint.warn("Warnings")) + "\n" + items;
}

// "name: description", for the first lines.
std::string heading(const Report& report, std::size_t columns, const Paint& paint)
{
  std::string name = report.result().experiment;
  const std::string& description = report.result().description;
  if (!name.empty() && !description.empty())
    name += ": ";
  std::string text;
  for (const std::string& line : wrapped(clipped(name + description, 2000), columns))
    text += paint.bold(line) + "\n";
  return name.empty() && description.empty() ? "" : text + "\n";
}

} // namespace

std::string report_table(const ExperimentResult& result, const TableStyle& style)
{
  const Report report(result);
  const Paint paint{style.colour};
  const std::size_t columns = std::max<std::size_t>(style.columns, 40);
  const FittedTable table = fitted(report, columns);
  std::string text = heading(report, columns, paint);
  if (report.rows().empty())
    text += "no points\n";
  const auto lines = lines_of(table.cells);
  text += paint.bold(lines.front()) + "\n";
  for (std::size_t i = 1; i < lines.size(); ++i)
    text += lines[i] + "\n";
  if (!table.alike.empty())
    text += "In all lines: " + table.alike + "\n";
  for (const std::string& sentence : report.linked_sentences())
    text += sentence + "\n";
  return text + reasons(report, columns, paint) + sharing_text(report, columns, paint) +
         in_short(report, columns, paint) + certainty_text(report, columns, paint) +
         warnings_text(report, columns, paint);
}

} // namespace foretrain::experiments
