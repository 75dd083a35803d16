// The forms in which people keep what nccl-tests printed: as it came, pasted into Markdown, several
// programs one after the other.
#include "calibration/nccl_tests_log.hpp"

#include <algorithm>

namespace foretrain::calibration {

namespace {

std::vector<std::string> split_lines(const std::string& text)
{
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

std::size_t skip_blanks(const std::string& line, std::size_t at)
{
  while (at < line.size() && (line[at] == ' ' || line[at] == '\t'))
    ++at;
  return at;
}

bool holds_columns(const std::string& line)
{
  return line.find("algbw") != std::string::npos && line.find("busbw") != std::string::npos &&
         line.find("count") != std::string::npos;
}

// Takes off Markdown's quotes, tables and fences.
void clean(std::vector<std::string>& lines)
{
  for (std::string& line : lines) {
    std::size_t at = skip_blanks(line, 0);
    while (at < line.size() && line[at] == '>')
      at = skip_blanks(line, at + 1);
    if (line.compare(at, 3, "```") == 0 || line.compare(at, 3, "~~~") == 0) {
      line.clear();
      continue;
    }
    if (at > 0 && at <= line.size() && line.find('>') < at)
      line.erase(0, at);
    at = skip_blanks(line, 0);
    if (at < line.size() && line[at] == '|') {
      const bool rule = line.find_first_not_of("|-: \t\r", at) == std::string::npos;
      std::replace(line.begin(), line.end(), '|', ' ');
      if (rule)
        line.clear();
    }
  }
}

// A line with which a program of nccl-tests begins what it prints, or by which it was started.
bool begins(const std::string& line)
{
  return line.find("nThread") != std::string::npos || line.find("_perf") != std::string::npos ||
         holds_columns(line);
}

} // namespace

std::vector<std::string> split_nccl_tests(const std::string& text)
{
  auto lines = split_lines(text);
  clean(lines);
  std::vector<std::size_t> starts{0};
  bool header = false;
  std::size_t announced = 0; // first line of what comes after a header's rows
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (header && announced == 0 && begins(lines[i]))
      announced = i;
    if (!holds_columns(lines[i]))
      continue;
    if (header)
      starts.push_back(announced);
    header = true;
    announced = 0;
  }
  std::vector<std::string> sections;
  for (std::size_t s = 0; s < starts.size(); ++s) {
    const std::size_t end = s + 1 < starts.size() ? starts[s + 1] : lines.size();
    std::string section(starts[s], '\n'); // lines keep their numbers
    for (std::size_t i = starts[s]; i < end; ++i)
      section += lines[i] + "\n";
    sections.push_back(std::move(section));
  }
  return sections;
}

std::vector<NcclTestsLog> read_nccl_tests_all(const std::string& text, const std::string& name)
{
  std::vector<NcclTestsLog> logs;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') {
    logs.push_back(read_nccl_tests(text, name));
    return logs;
  }
  for (const std::string& section : split_nccl_tests(text))
    logs.push_back(read_nccl_tests(section, name));
  // Programs of one job: what the first says of its ranks holds for those that say nothing.
  for (NcclTestsLog& log : logs)
    if (log.ranks.empty()) {
      log.ranks = logs.front().ranks;
      log.gpus_per_thread = logs.front().gpus_per_thread;
    }
  return logs;
}

std::vector<NcclTestsLog> read_nccl_tests_files(const std::string& path)
{
  return read_nccl_tests_all(read_log(path), path);
}

} // namespace foretrain::calibration
