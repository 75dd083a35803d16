#include "calibration/text_log.hpp"

#include "sim/base/error.hpp"
#include "sim/base/files.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

namespace foretrain::calibration {

namespace {

bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

std::string without_colours(std::string_view line)
{
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && (is_digit(line[i]) || line[i] == ';'))
        ++i;
    } else if (line[i] != '\r') {
      out += line[i];
    }
  }
  return out;
}

std::string_view behind(std::string_view line, std::size_t end)
{
  const std::size_t next = line.find_first_not_of(' ', end);
  return next == std::string_view::npos ? std::string_view{} : line.substr(next);
}

// What launchers put before every line: mpirun --tag-output "[job,rank]<stdout>:", kubectl logs
// --timestamps "2026-01-31T12:00:00.5Z ", --prefix "[pod/name/container] ", srun --label "12: ".
std::string_view without_tag(std::string_view line)
{
  constexpr std::string_view kDate = "dddd-dd-ddTdd:dd:dd";
  const auto like = [](char c, char form) { return form == 'd' ? is_digit(c) : c == form; };
  if (line.size() > kDate.size() && std::equal(kDate.begin(), kDate.end(), line.begin(),
                                               [&](char form, char c) { return like(c, form); }))
    line = behind(line, std::min(line.find(' '), line.size()));
  if (line.starts_with("[pod/"))
    line = behind(line, std::min(line.find(' '), line.size()));
  const std::size_t end = line.find("<stdout>:");
  if (!line.empty() && line[0] == '[' && end != std::string_view::npos && end <= 80)
    return line.substr(end + 9);
  const std::size_t number = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t colon = std::min(line.find_first_not_of("0123456789", number), line.size());
  return colon > number && line.substr(colon).starts_with(": ") ? line.substr(colon + 2) : line;
}

// pdsh, clush and pods' loggers: the host's name and a colon, before most lines.
std::string hosts_tag(const std::vector<LogLine>& lines)
{
  std::map<std::string, std::size_t> counts;
  std::size_t written = 0;
  for (const LogLine& line : lines)
    if (!line.words.empty()) {
      ++written;
      if (const std::string& word = line.words.front(); word.size() > 1 && word.back() == ':')
        ++counts[word];
    }
  for (const auto& [word, count] : counts)
    if (2 * count > written && count > 2)
      return word;
  return "";
}

void drop_tag(LogLine& line, const std::string& tag)
{
  if (line.words.empty() || line.words.front() != tag)
    return;
  line.text = behind(line.text, line.text.find(tag) + tag.size());
  line.words.erase(line.words.begin());
}

} // namespace

void fail(const std::string& name, int line, const std::string& problem, const std::string& hint)
{
  throw ConfigError(name + ":" + std::to_string(line), "", problem, hint);
}

std::vector<LogLine> log_lines(const std::string& text, const std::string& name)
{
  if (text.size() > kLogBytes)
    throw ConfigError(name, "", "is larger than 64 MiB, the limit for a log");
  if (text.find('\0') != std::string::npos)
    throw ConfigError(name, "", "holds zero bytes; is it a text file?");
  std::vector<LogLine> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    LogLine line;
    line.number = static_cast<int>(lines.size()) + 1;
    const std::string plain = without_colours(std::string_view(text).substr(start, end - start));
    line.text = without_tag(plain);
    std::string word;
    for (const char c : line.text + " ") {
      if (c != ' ' && c != '\t')
        word += c;
      else if (!word.empty())
        line.words.push_back(std::exchange(word, {}));
    }
    lines.push_back(std::move(line));
    start = end + 1;
  }
  if (const std::string tag = hosts_tag(lines); !tag.empty())
    for (LogLine& line : lines)
      drop_tag(line, tag);
  return lines;
}

std::optional<Printed> printed_number(std::string_view word)
{
  std::size_t i = !word.empty() && word[0] == '-' ? 1 : 0;
  std::size_t digits = 0;
  int decimals = 0;
  bool point = false;
  for (; i < word.size() && (is_digit(word[i]) || (word[i] == '.' && !point)); ++i) {
    if (is_digit(word[i]))
      ++digits;
    decimals += point ? 1 : 0;
    point = point || word[i] == '.';
  }
  if (digits == 0)
    return {};
  int exponent = 0;
  if (i < word.size() && (word[i] == 'e' || word[i] == 'E')) {
    std::size_t first = i + 1;
    if (first < word.size() && word[first] == '+')
      ++first;
    const auto [end, error] =
        std::from_chars(word.data() + first, word.data() + word.size(), exponent);
    if (error != std::errc{} || end != word.data() + word.size() || std::abs(exponent) > 300)
      return {};
    i = word.size();
  }
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (i != word.size() || error != std::errc{} || end != word.data() + word.size() ||
      !std::isfinite(value))
    return {};
  return Printed{value, 0.5 * std::pow(10.0, exponent - decimals)};
}

std::optional<long long> whole_number(std::string_view word)
{
  long long value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || !is_digit(word[0]) || error != std::errc{} ||
      end != word.data() + word.size() || value > 1000000000000000)
    return {};
  return value;
}

std::string read_log(const std::string& path)
{
  return read_file(path, kLogBytes + 1); // log_lines refuses what is larger
}

} // namespace foretrain::calibration
