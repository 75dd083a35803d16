#include "models/traces/operator_table.hpp"

#include "models/traces/trace.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

constexpr std::size_t kLargestTable = 64 * 1024 * 1024;
constexpr std::size_t kMostRows = 200'000;
constexpr double kLongest = 1e6; // s, of a row
// Of times that are printed with few digits.
constexpr double kRounded = 0.1;
constexpr double kRoundedTime = 1e-6; // s

std::string trimmed(const std::string& text)
{
  const std::size_t first = text.find_first_not_of(" \t\r\"");
  const std::size_t last = text.find_last_not_of(" \t\r\"");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// Seconds of a unit at the end of a text, in brackets or behind '_' or a number; 0: none.
double unit_in(const std::string& text)
{
  std::string word;
  for (const char c : lower_case(text))
    if (c != ' ' && c != ')' && c != ']')
      word += c;
  for (const auto& [unit, seconds] :
       {std::pair{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}}) {
    const std::string end(unit);
    if (word.size() <= end.size() || !word.ends_with(end))
      continue;
    const char before = word[word.size() - end.size() - 1];
    if (before == '_' || before == '(' || before == '[' || before == '.' || before == '/' ||
        (before >= '0' && before <= '9'))
      return seconds;
  }
  return 0;
}

enum class Column { name, count, time, total, kind, phase, other };

struct Heading {
  Column column = Column::other;
  double unit = 0; // of times; 0: each value has its own
};

// Columns by what people and tools call them.
Heading heading_of(const std::string& text)
{
  const std::string word = lower_case(trimmed(text));
  const auto is = [&word](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), word) != names.end();
  };
  if (is({"name", "operator", "op", "kernel", "kernel name", "layer"}))
    return {Column::name, 0};
  if (is({"count", "calls", "instances", "# of calls", "invocations"}))
    return {Column::count, 0};
  if (is({"class", "kind"}))
    return {Column::kind, 0};
  if (is({"phase", "pass"}))
    return {Column::phase, 0};
  if (word.find('%') != std::string::npos)
    return {};
  const double unit = unit_in(word);
  if (word.starts_with("total"))
    return {Column::total, unit};
  if (word.starts_with("time") || word.starts_with("avg") || word.starts_with("mean") ||
      word.starts_with("duration"))
    return {Column::time, unit};
  return {};
}

struct Row {
  std::string name, kind, phase;
  double count = 1;
  double time = -1, total = -1; // s; -1: not told
};

class TableReader {
public:
  explicit TableReader(std::string file) : file_(std::move(file)) {}

  [[noreturn]] void fail(std::size_t row, const std::string& problem,
                         const std::string& hint = "") const
  {
    throw ConfigError(file_, "", fmt::format("row {}: {}", row, problem), hint);
  }

  void put(Row& row, const Heading& heading, const std::string& text, std::size_t number) const
  {
    switch (heading.column) {
    case Column::name:
      row.name = text;
      break;
    case Column::kind:
      row.kind = lower_case(text);
      break;
    case Column::phase:
      row.phase = lower_case(text);
      break;
    case Column::count:
      row.count = value(text, number, "count");
      break;
    case Column::time:
      row.time = seconds(text, heading.unit, number);
      break;
    case Column::total:
      row.total = seconds(text, heading.unit, number);
      break;
    case Column::other:
      break;
    }
  }

  void check(const Row& row, std::size_t number) const
  {
    if (row.name.empty())
      fail(number, "has no name");
    if (row.time < 0 && row.total < 0)
      fail(number, "has no time");
    if (row.count <= 0 || row.count > 1e9)
      fail(number, fmt::format("count is {:g}, must be above 0", row.count));
    if (row.time > kLongest || row.total > kLongest)
      fail(number, "takes longer than 11 days");
    if (row.time >= 0 && row.total >= 0) {
      const double sum = row.count * row.time;
      if (std::abs(row.total - sum) >
          kRounded * std::max(row.total, sum) + row.count * kRoundedTime)
        fail(number, fmt::format("takes {:g} times {:g} us, which is not {:g} us in total",
                                 row.count, row.time * 1e6, row.total * 1e6));
    }
    if (!row.kind.empty() && row.kind != "product" && row.kind != "memory")
      fail(number, fmt::format("class is '{}'", row.kind), "product or memory");
    if (!row.phase.empty() && row.phase != "forward" && row.phase != "backward" &&
        row.phase != "optimizer")
      fail(number, fmt::format("phase is '{}'", row.phase), "forward, backward or optimizer");
  }

private:
  double value(std::string text, std::size_t row, const char* what) const
  {
    text.erase(std::remove(text.begin(), text.end(), ','), text.end()); // "1,024"
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (text.empty() || end == text.c_str() || !std::isfinite(number) || number < 0)
      fail(row, fmt::format("{} is '{}', must be a number of at least 0", what, text));
    return number;
  }
  double seconds(const std::string& text, double unit, std::size_t row) const
  {
    const double own = unit > 0 ? unit : unit_in(text);
    if (own <= 0)
      fail(row, fmt::format("time is '{}', of no unit", text),
           "say it in the header (time_us) or behind the number (12.5 us); ns, us, ms, s");
    return own * value(text, row, "time");
  }

  std::string file_;
};

// Fields of a line; a field in quotes may hold commas.
std::vector<std::string> fields_of(const std::string& line)
{
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  for (std::string& field : fields)
    field = trimmed(field);
  return fields;
}

bool is_header(const std::vector<Heading>& headings)
{
  bool name = false;
  bool time = false;
  for (const Heading& heading : headings) {
    name = name || heading.column == Column::name;
    time = time || heading.column == Column::time || heading.column == Column::total;
  }
  return name && time;
}

std::vector<Heading> headings_of(const std::string& line)
{
  std::vector<Heading> headings;
  for (const std::string& field : fields_of(line))
    headings.push_back(heading_of(field));
  return headings;
}

std::vector<Row> rows_of_csv(std::istream& in, const TableReader& reader)
{
  std::vector<Row> rows;
  std::vector<Heading> headings;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (trimmed(line).empty())
      continue;
    if (!is_header(headings)) { // what a tool prints before it is passed over
      headings = headings_of(line);
      continue;
    }
    const auto fields = fields_of(line);
    if (fields.size() > headings.size() && !fields.back().empty())
      reader.fail(number, fmt::format("has {} fields, and the header has {}", fields.size(),
                                      headings.size()));
    Row row;
    for (std::size_t i = 0; i < fields.size() && i < headings.size(); ++i)
      reader.put(row, headings[i], fields[i], number);
    reader.check(row, number);
    rows.push_back(std::move(row));
    if (rows.size() > kMostRows)
      reader.fail(number, "is one of more than 200,000");
  }
  return rows;
}

std::vector<Row> rows_of_json(const Json& json, const TableReader& reader)
{
  const Json& list = json.is_object() && json.contains("operators") ? json.at("operators") : json;
  if (!list.is_array())
    reader.fail(0, "is no list of operators");
  std::vector<Row> rows;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_object())
      reader.fail(i, "is no object");
    Row row;
    for (const auto& [key, value] : list[i].items())
      reader.put(row, heading_of(key), value.is_string() ? value.get<std::string>() : value.dump(),
                 i);
    reader.check(row, i);
    rows.push_back(std::move(row));
  }
  return rows;
}

struct Sum {
  double product = 0, memory = 0, kernels = 0;
};

Json json_of(const Sum& sum)
{
  return {{"product", fmt::format("{:.6g} us", sum.product * 1e6)},
          {"memory", fmt::format("{:.6g} us", sum.memory * 1e6)},
          {"kernels", static_cast<int>(std::min(2e9, std::round(sum.kernels)))}};
}

} // namespace

bool looks_like_operator_table(const std::string& head)
{
  const std::size_t start = head.find_first_not_of(" \t\r\n");
  if (start == std::string::npos)
    return false;
  if (head[start] == '[' || head[start] == '{') {
    const std::size_t open = head.find('{', head[start] == '{' ? start + 1 : start);
    const std::string first = head.substr(start, head.find('}', open) - start);
    return first.find("\"name\"") != std::string::npos &&
           (first.find("\"time") != std::string::npos ||
            first.find("\"total") != std::string::npos);
  }
  std::istringstream lines(head);
  std::string line;
  for (int i = 0; i < 20 && std::getline(lines, line); ++i)
    if (is_header(headings_of(line)))
      return true;
  return false;
}

ImportedTable import_operator_table(const std::filesystem::path& path, std::optional<int> batch,
                                    std::optional<int> steps)
{
  std::string text = read_file(path.string(), kLargestTable + 1);
  if (text.size() > kLargestTable)
    throw ConfigError(path.string(), "", "is no table: larger than 64 MiB");
  const TableReader reader(path.string());
  std::istringstream in(text);
  const double share = 1.0 / steps.value_or(1);
  const bool of_nsys = text.find("Total Time (") != std::string::npos;
  const bool json = (in >> std::ws).peek() == '[' || in.peek() == '{';
  const std::vector<Row> rows =
      json ? rows_of_json(parse_document(std::move(text), path)->root, reader)
           : rows_of_csv(in, reader);
  if (rows.empty())
    throw ConfigError(path.string(), "", "holds no row below its header");
  std::map<std::string, Sum> phases;
  double left = 0;
  for (const Row& row : rows) {
    const double time = share * (row.total >= 0 ? row.total : row.count * row.time);
    const KernelClass kind = class_of(row.name);
    if (row.kind.empty() && (kind == KernelClass::collective || kind == KernelClass::copy)) {
      left += time;
      continue;
    }
    Sum& sum = phases[row.phase.empty() ? "forward" : row.phase];
    (row.kind == "product" || (row.kind.empty() && kind == KernelClass::product) ? sum.product
                                                                                 : sum.memory) +=
        time;
    sum.kernels += share * row.count;
  }
  ImportedTable table;
  double step = 0;
  for (const auto& [phase, sum] : phases)
    step += sum.product + sum.memory;
  table.notes.push_back(
      fmt::format("{} rows: {:.3f} ms of kernels in a step", rows.size(), step * 1e3));
  table.notes.emplace_back(
      "a table tells no gaps between kernels and no sizes of gradients: usable "
      "on one device");
  if (of_nsys && !steps)
    table.notes.emplace_back("nsys stats sums up all that was recorded, and it counts as one step: "
                             "--steps N says how many it holds");
  if (left > 0)
    table.notes.push_back(
        fmt::format("copies and collectives of {:.3f} ms are left out", left * 1e3));
  if (phases.count("backward") == 0)
    table.notes.emplace_back("no row is of the backward pass: the step is what the table holds");
  Json& measured = table.measured;
  if (batch)
    measured["batch"] = *batch;
  measured["step"] = fmt::format("{:.6g} us", step * 1e6);
  measured["forward"] = Json::array({json_of(phases["forward"])});
  measured["backward"] = Json::array({json_of(phases["backward"])});
  measured["optimizer"] = json_of(phases["optimizer"]);
  return table;
}

} // namespace foretrain::models
