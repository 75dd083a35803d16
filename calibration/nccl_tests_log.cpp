#include "calibration/nccl_tests_log.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace foretrain::calibration {

namespace {

using Words = std::vector<std::string>;

// A line's words without the leading '#', which pastes into issue trackers tend to lose.
Words after_hash(const LogLine& line)
{
  Words words = line.words;
  if (!words.empty() && words[0] == "#")
    words.erase(words.begin());
  else if (!words.empty() && words[0].starts_with("#") && words[0] != "#wrong")
    words[0].erase(0, 1);
  return words;
}

bool is_header(const Words& words)
{
  return words.size() >= 7 && words[0] == "size" && words[1] == "count" && words[2] == "type";
}

// The unit a column must have; "" for none, two words for a time stamp.
const char* unit_of(const std::string& column)
{
  static constexpr std::pair<const char*, const char*> kUnits[] = {
      {"size", "(B)"},     {"count", "(elements)"}, {"type", ""},        {"redop", ""},
      {"root", ""},        {"time", "(us)"},        {"cputime", "(us)"}, {"algbw", "(GB/s)"},
      {"busbw", "(GB/s)"}, {"error", ""},           {"#wrong", ""},      {"i_min", "(us)"},
      {"i_max", "(us)"},   {"i_p99", "(us)"},       {"i_cv%", "(%)"},    {"timestamp", ""}};
  for (const auto& [name, unit] : kUnits)
    if (column == name)
      return unit;
  return nullptr;
}

class Parser {
public:
  Parser(const std::string& text, std::string name) : name_(std::move(name))
  {
    for (const LogLine& line : log_lines(text, name_))
      take(line);
    if (columns_.empty())
      throw ConfigError(name_, "", "holds no header 'size count type ...' of nccl-tests");
    if (!units_seen_)
      fail(name_, header_line_, "the line with units (B) (elements) (us) (GB/s) must follow");
    if (log_.collective.empty() && programs_.size() == 1)
      log_.collective = *programs_.begin();
    // Rows are checked last: only then are the ranks and the collective known.
    for (std::size_t i = 0; i < log_.rows.size(); ++i) {
      const NcclRow& row = log_.rows[i];
      detail::check_row(log_, row, printed_[i],
                        [&](const std::string& problem, const std::string& hint) {
                          fail(name_, row.line, problem, hint);
                        });
    }
    detail::check_log(log_, name_);
  }

  NcclTestsLog result() { return std::move(log_); }

private:
  void take(const LogLine& line)
  {
    const Words words = after_hash(line);
    if (words.empty())
      return;
    if (is_header(words))
      header(words, line.number);
    else if (!columns_.empty() && !units_seen_)
      units(words, line.number);
    else if (columns_.empty())
      preamble(words, line.number);
    else if (words[0].front() >= '0' && words[0].front() <= '9' && words.size() > 1 &&
             words[1].find_first_not_of("0123456789") == std::string::npos)
      row(words, line.number);
    else if (words.size() == 1 && words[0].find_first_not_of("0123456789.") == std::string::npos)
      fail(name_, line.number, "a row is cut off: '" + excerpt(line.text) + "'");
    else
      footer(words, line.number);
  }

  void preamble(const Words& words, int line)
  {
    if (words.size() == 4 && words[0] == "Collective" && words[2] == "starting:")
      log_.collective = detail::collective_of(words[3]);
    for (const std::string& word : words)
      if (const auto collective = detail::collective_of(word); !collective.empty())
        programs_.insert(collective);
    if (words.size() >= 8 && words[0] == "Rank")
      rank(words, line);
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i] == "nGpus")
        if (const auto value = whole_number(words[i + 1]); value && *value > 0 && *value <= 1024)
          log_.gpus_per_thread = static_cast<int>(*value);
  }

  // Rank 0 [Group 0] Pid 1320 on host device 0 [0x1a] Tesla V100
  void rank(const Words& words, int line)
  {
    NcclRank rank;
    std::size_t i = 0;
    const auto number = [&](const char* key) {
      const auto value = i + 1 < words.size() && words[i] == key ? whole_number(words[i + 1])
                                                                 : std::optional<long long>{};
      if (!value || *value > 1000000000)
        fail(name_, line, fmt::format("a rank's line must give its {}", key));
      i += 2;
      return static_cast<int>(*value);
    };
    rank.rank = number("Rank");
    if (words[i] == "Group")
      rank.group = number("Group");
    number("Pid");
    if (i + 1 >= words.size() || words[i] != "on")
      fail(name_, line, "a rank's line must give its host");
    rank.host = words[i + 1];
    i += 2;
    rank.device = number("device");
    for (++i; i < words.size(); ++i)
      rank.gpu += (rank.gpu.empty() ? "" : " ") + words[i];
    if (log_.ranks.size() >= 1000000 || !seen_.insert(rank.rank).second)
      fail(name_, line, fmt::format("rank {} appears twice", rank.rank),
           "were several runs mixed, or was the test built without MPI?");
    log_.ranks.push_back(std::move(rank));
  }

  void header(const Words& words, int line)
  {
    if (!columns_.empty())
      fail(name_, line, "a second test begins here, one is read at a time",
           fmt::format("the first one's header is line {}", header_line_));
    for (const std::string& word : words)
      if (unit_of(word) == nullptr)
        fail(name_, line, "column '" + excerpt(word) + "' is not one of nccl-tests");
    // size count type [redop] [root], then once or twice: time algbw busbw wrong [iterations]
    std::size_t i = 3;
    for (const char* key : {"redop", "root"})
      if (i < words.size() && words[i] == key)
        ++i;
    const std::size_t first = i;
    while (i < words.size() && words[i] != "timestamp") {
      const std::size_t start = i;
      const bool time = words[i] == "time" || words[i] == "cputime";
      const bool rates = i + 3 < words.size() && words[i + 1] == "algbw" && words[i + 2] == "busbw";
      if (!time || !rates || (words[i + 3] != "error" && words[i + 3] != "#wrong"))
        fail(name_, line,
             "columns must be time, algbw, busbw and #wrong (or error), got '" + excerpt(words[i]) +
                 "'");
      i += 4;
      if (i < words.size() && words[i] == "i_min")
        for (const char* key : {"i_min", "i_max", "i_p99", "i_cv%"})
          if (i >= words.size() || words[i++] != key)
            fail(name_, line, "columns of single iterations must be i_min i_max i_p99 i_cv%");
      halves_.push_back(start);
    }
    if (halves_.empty() || halves_.size() > 2 || (i < words.size() && i + 1 != words.size()) ||
        (halves_.size() == 2 && 2 * (halves_[1] - first) != i - first))
      fail(name_, line, "columns must come once (out-of-place) or twice (in-place)");
    columns_ = words;
    header_line_ = line;
    const auto named = [&words](const char* key) {
      return std::find(words.begin(), words.end(), key) != words.end();
    };
    log_.columns = {named("redop"), named("root")};
  }

  void units(const Words& words, int line)
  {
    Words expected;
    for (const std::string& column : columns_)
      if (const std::string unit = unit_of(column); !unit.empty())
        expected.push_back(unit);
    Words found = words;
    if (columns_.back() == "timestamp" && found.size() == expected.size() + 2)
      found.resize(expected.size());
    if (found != expected)
      fail(name_, line,
           "units must be " + joined(expected, " ") + "; got '" + excerpt(joined(words, " "), 120) +
               "'");
    units_seen_ = true;
  }

  void row(const Words& all, int line)
  {
    Words words = all;
    std::size_t expected = columns_.size();
    if (columns_.back() == "timestamp")
      expected += 1; // date and time
    // Old versions leave redop blank where there is none.
    if (words.size() + 1 == expected && columns_[3] == "redop" &&
        printed_number(words.size() > 3 ? words[3] : ""))
      words.insert(words.begin() + 3, "");
    if (words.size() != expected)
      fail(name_, line,
           fmt::format("the row has {} values, the header of line {} has {} columns", all.size(),
                       header_line_, expected),
           "is the row cut off, or did another line run into it?");
    const auto whole = [&](std::size_t i) {
      const auto value = whole_number(words[i]);
      if (!value)
        fail(name_, line, columns_[i] + " must be a whole number, got '" + excerpt(words[i]) + "'");
      return *value;
    };
    NcclRow row;
    row.line = line;
    row.size = Bytes(static_cast<double>(whole(0)));
    row.count = whole(1);
    row.type = words[2];
    for (std::size_t i = 3; i < halves_[0]; ++i) {
      if (columns_[i] == "redop")
        row.operation = words[i];
      else if (words[i] != "-1")
        row.root = static_cast<int>(std::min(whole(i), 1000000000LL));
    }
    std::vector<detail::PrintedTiming> printed;
    row.out_of_place = timing(words, halves_[0], line, printed);
    if (halves_.size() == 2)
      row.in_place = timing(words, halves_[1], line, printed);
    log_.rows.push_back(std::move(row));
    printed_.push_back(std::move(printed));
  }

  NcclTiming timing(const Words& words, std::size_t at, int line,
                    std::vector<detail::PrintedTiming>& printed)
  {
    const auto number = [&](std::size_t i) {
      const auto value = printed_number(words[i]);
      if (!value)
        fail(name_, line, columns_[i] + " must be a number, got '" + excerpt(words[i]) + "'");
      return *value;
    };
    const detail::PrintedTiming values{number(at), number(at + 1), number(at + 2),
                                       columns_[at] == "cputime"};
    NcclTiming timing{Seconds(values.time_us.value * 1e-6),
                      BytesPerSecond(values.algbw.value * 1e9),
                      BytesPerSecond(values.busbw.value * 1e9),
                      {}};
    if (words[at + 3] != "N/A") {
      const double wrong = number(at + 3).value;
      if (columns_[at + 3] == "#wrong")
        timing.wrong = wrong;
    }
    const std::size_t end = halves_.size() == 2 ? halves_[1] - halves_[0] : words.size() - at;
    for (std::size_t i = at + 4; i < at + end && i < columns_.size(); ++i)
      if (columns_[i].starts_with("i_"))
        number(i);
    printed.push_back(values);
    return timing;
  }

  void footer(const Words& words, int line)
  {
    const std::size_t n = words.size();
    if (n >= 5 && words[0] == "Avg" && words[1] == "bus" && words[2] == "bandwidth") {
      const auto value = printed_number(words[4]);
      if (words[3] != ":" || !value || log_.average_bus_bandwidth)
        fail(name_, line,
             "average bus bandwidth must be one number, got '" + excerpt(joined(words, " ")) + "'");
      log_.average_bus_bandwidth = BytesPerSecond(value->value * 1e9);
      log_.complete = true;
    } else if (n >= 6 && words[0] == "Out" && words[2] == "bounds" && words[5] == "FAILED") {
      detail::add_note(log_, "nccl-tests counted " + excerpt(words[4].empty() ? "" : words[4]) +
                                 " values out of bounds");
    } else if (n >= 8 && words[0] == "Rank" && words[1] != "-") {
      fail(name_, line, "a rank is listed after the header: several runs are mixed");
    }
  }

  std::string name_;
  NcclTestsLog log_;
  Words columns_;
  std::vector<std::size_t> halves_; // index of the time column of each
  int header_line_ = 0;
  bool units_seen_ = false;
  std::set<std::string> programs_;
  std::set<int> seen_;
  std::vector<std::vector<detail::PrintedTiming>> printed_; // of each row
};

bool is_json(const std::string& text)
{
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

} // namespace

bool is_nccl_tests(const std::string& text)
{
  if (is_json(text))
    return text.find("\"nccl_version\"") != std::string::npos &&
           text.find("\"alg_bw\"") != std::string::npos;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, std::min<std::size_t>(end - start, 1000));
    if (line.find("algbw") != std::string::npos && line.find("busbw") != std::string::npos &&
        line.find("count") != std::string::npos)
      return true;
    start = end + 1;
  }
  return false;
}

NcclTestsLog read_nccl_tests(const std::string& text, const std::string& name)
{
  return is_json(text) ? detail::read_nccl_tests_json(text, name) : Parser(text, name).result();
}

NcclTestsLog read_nccl_tests_file(const std::string& path)
{
  return read_nccl_tests(read_log(path), path);
}

} // namespace foretrain::calibration
