#include "experiments/fleet/trace_text.hpp"

#include "sim/base/error.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kLongestLine = 1 << 20;

int digits(std::string_view text, std::size_t at, std::size_t count)
{
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (i >= text.size() || text[i] < '0' || text[i] > '9')
      return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// Days since 1970 of a day of the Gregorian calendar (Hinnant, "chrono-compatible low-level date
// algorithms").
double days_of(int year, int month, int day)
{
  const int y = year - (month <= 2 ? 1 : 0);
  const int era = (y >= 0 ? y : y - 399) / 400;
  const int year_of_era = y - era * 400;
  const int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097.0 + day_of_era - 719468;
}

} // namespace

void each_line(const std::filesystem::path& path,
               const std::function<void(std::string_view, std::size_t)>& line)
{
  require_readable(path);
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), &gzclose);
  if (!file || std::filesystem::is_directory(path))
    throw ConfigError(path.string(), "", "cannot be read");
  std::array<char, 1 << 16> buffer{};
  std::string text;
  std::size_t number = 1;
  for (int got = 0; (got = gzread(file.get(), buffer.data(), buffer.size())) > 0;)
    for (const char c : std::string_view(buffer.data(), static_cast<std::size_t>(got))) {
      if (c != '\n') {
        text += c;
        if (text.size() > kLongestLine)
          throw ConfigError(path.string(), "",
                            "is no table: " + line_name(number) + " is longer than a megabyte");
        continue;
      }
      if (!text.empty() && text.back() == '\r')
        text.pop_back();
      line(text, number++);
      text.clear();
    }
  int problem = Z_OK; // of a file that is cut off, too, which gzread() takes for its end
  gzerror(file.get(), &problem);
  if (problem != Z_OK)
    throw ConfigError(path.string(), "", "is damaged: it cannot be unpacked",
                      "was it downloaded completely?");
  if (!text.empty())
    line(text, number);
}

std::string line_name(std::size_t number)
{
  return "line " + std::to_string(number);
}

std::vector<std::string> cells_of(std::string_view line, char separator)
{
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (separator == ',' && c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[++i];
    else if (separator == ',' && c == '"' && (quoted || cells.back().empty()))
      quoted = !quoted;
    else if (c == separator && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

TraceTable::TraceTable(const std::filesystem::path& path, char separator)
    : path_(path), separator_(separator)
{
  each_line(path, [&](std::string_view text, std::size_t number) {
    if (!head_.empty() || text.empty() || text.front() == '#')
      return;
    head_ = cells_of(text, separator);
    head_line_ = number;
  });
  for (std::size_t i = 0; i < head_.size(); ++i)
    columns_.emplace(head_[i], i);
}

TraceTable::TraceTable(const std::filesystem::path& path, char separator,
                       std::vector<std::string> head)
    : path_(path), separator_(separator), head_(std::move(head))
{
  for (std::size_t i = 0; i < head_.size(); ++i)
    columns_.emplace(head_[i], i);
}

bool TraceTable::has(std::string_view column) const
{
  return columns_.contains(column);
}

std::string_view TraceTable::need(const std::vector<std::string_view>& names) const
{
  for (const std::string_view name : names)
    if (has(name))
      return name;
  const std::vector<std::string> wanted(names.begin(), names.end());
  throw ConfigError(path_.string() + ":" + std::to_string(head_line_), "",
                    "has no column " + joined(wanted, " or "),
                    "columns found: " + excerpt(joined(head_), 200));
}

const std::string& TraceTable::Row::at(std::string_view column) const
{
  static const std::string empty;
  const auto found = table_.columns_.find(column);
  return found == table_.columns_.end() || found->second >= cells_.size() ? empty
                                                                          : cells_[found->second];
}

bool TraceTable::Row::whole() const
{
  return cells_.size() == table_.head_.size();
}

void TraceTable::each(const std::function<void(const Row&)>& row) const
{
  each_line(path_, [&](std::string_view text, std::size_t number) {
    if (number > head_line_ && !text.empty() && text.front() != '#')
      row(Row(*this, cells_of(text, separator_), number));
  });
}

std::optional<double> number_of(std::string_view text)
{
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return {};
  return value;
}

int whole_of(double number)
{
  return static_cast<int>(std::clamp(number, -1e9, 1e9));
}

namespace {

// Seconds that a clock is ahead of UTC, of what follows the seconds of a time: a fraction, and "Z",
// "+01:00", "+0100" or nothing, which is as the trace's own clock.
std::optional<double> ahead_of_utc(std::string_view rest)
{
  if (!rest.empty() && rest.front() == '.')
    rest.remove_prefix(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
  if (rest.empty() || (rest.front() != '+' && rest.front() != '-'))
    return 0;
  const std::size_t minutes = rest.size() > 3 && rest[3] == ':' ? 4 : 3;
  const int hour = digits(rest, 1, 2), minute = rest.size() > 3 ? digits(rest, minutes, 2) : 0;
  if (hour < 0 || minute < 0)
    return {};
  return (rest.front() == '-' ? -1 : 1) * (hour * 3600.0 + minute * 60);
}

} // namespace

std::optional<double> time_of(std::string_view text)
{
  const int year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const int hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (year < 0 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 24 ||
      minute < 0 || minute > 59 || second < 0 || second > 60)
    return {};
  const auto ahead = ahead_of_utc(text.substr(std::min<std::size_t>(19, text.size())));
  if (!ahead)
    return {};
  return days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - *ahead;
}

std::optional<double> elapsed_of(std::string_view text)
{
  double days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto number = number_of(text.substr(0, dash));
    if (!number)
      return {};
    days = *number;
    text.remove_prefix(dash + 1);
  }
  double seconds = 0;
  int parts = 0;
  while (!text.empty() && parts < 3) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto number = number_of(text.substr(0, colon));
    if (!number || *number < 0)
      return {};
    seconds = seconds * 60 + *number;
    text.remove_prefix(std::min(text.size(), colon + 1));
    ++parts;
  }
  if (!text.empty() || parts < 2)
    return {};
  return days * 86400 + seconds;
}

} // namespace foretrain::experiments
