#include "calibration/perftest_log.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::calibration {

namespace {

constexpr double kMebibyte = 1048576.0;
constexpr double kGigabit = 1.25e8; // bytes
constexpr double kAlike = 1.01;     // of two figures of one row

// What stands behind "Mtu             :" in a line; empty where the key is not there.
std::string value_behind(const LogLine& line, const std::string& key)
{
  const std::size_t at = line.text.find(key);
  const std::size_t colon = line.text.find(':', at);
  if (at == std::string::npos || colon == std::string::npos)
    return "";
  const std::size_t first = line.text.find_first_not_of(" \t", colon + 1);
  return first == std::string::npos
             ? ""
             : line.text.substr(first, line.text.find_first_of(" \t", first) - first);
}

// The row's messages in a second, in millions, are its average over its bytes: a row that was typed
// or cut says something else. Peaks and rates of 0 are not told (perftest's -D).
bool agrees(const LogLine& line, double bytes, double average, double unit)
{
  const auto peak = printed_number(line.words[2]);
  if (peak && peak->value > 0 && average > peak->value * kAlike)
    return false;
  const auto rate = printed_number(line.words.size() > 4 ? line.words[4] : "");
  if (!rate || rate->value <= 0)
    return true;
  const double told = rate->value * 1e6 * bytes;
  const double rounded = rate->slack * 1e6 * bytes;
  return std::abs(told - average * unit) <= (kAlike - 1) * told + rounded;
}

} // namespace

bool is_perftest(const std::string& text)
{
  return text.find("BW average[") != std::string::npos && text.find("#bytes") != std::string::npos;
}

PerftestLog read_perftest(const std::string& text, const std::string& name)
{
  PerftestLog log;
  double unit = 0;
  for (const LogLine& line : log_lines(text, name)) {
    if (line.words.empty())
      continue;
    if (line.text.find("BW Test") != std::string::npos) {
      const std::size_t first = line.text.find_first_not_of(" \t");
      log.test = line.text.substr(first);
      if (log.test.find("Bidirectional") != std::string::npos)
        fail(name, line.number, "is of both directions at once, which tells no rate one way",
             "run it without -b");
    }
    if (const std::string link = value_behind(line, "Link type"); !link.empty())
      log.link = link;
    if (const std::string mtu = value_behind(line, "Mtu"); !mtu.empty()) {
      const auto number = whole_number(mtu.substr(0, mtu.find('[')));
      if (!number || *number < 256 || *number > 65536)
        fail(name, line.number, "Mtu must be 256 to 65536 bytes, got '" + excerpt(mtu) + "'");
      log.mtu = Bytes(static_cast<double>(*number));
    }
    if (line.words[0] == "#bytes") {
      unit = line.text.find("BW average[MB/sec]") != std::string::npos   ? kMebibyte
             : line.text.find("BW average[Gb/sec]") != std::string::npos ? kGigabit
                                                                         : 0;
      if (unit <= 0)
        fail(name, line.number, "the average must be in [MB/sec] or [Gb/sec]");
      continue;
    }
    if (unit <= 0 || line.words[0].find_first_not_of("0123456789") != std::string::npos)
      continue;
    const auto size = whole_number(line.words[0]);
    const auto printed = printed_number(line.words.size() > 3 ? line.words[3] : "");
    const double average = printed ? printed->value : -1;
    if (!size || *size < 1 || average < 0 || average > 1e7)
      fail(name, line.number,
           "a row must be bytes, iterations, peak, average; got '" + excerpt(line.text) + "'");
    if (!log.rows.empty() && static_cast<double>(*size) <= log.rows.back().size.value())
      fail(name, line.number, "sizes must grow: several runs are mixed");
    if (!agrees(line, static_cast<double>(*size), average, unit))
      fail(name, line.number,
           "the average is above the peak, or not that of the messages a second: '" +
               excerpt(line.text) + "'",
           "is the row as perftest printed it?");
    log.rows.push_back(
        {Bytes(static_cast<double>(*size)), BytesPerSecond(average * unit), line.number});
  }
  if (log.rows.empty())
    throw ConfigError(name, "", "holds no row below '#bytes #iterations ...'");
  return log;
}

} // namespace foretrain::calibration
