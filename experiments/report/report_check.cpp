#include "experiments/report/report_check.hpp"

#include "experiments/report/svg.hpp"
#include "experiments/report/text_table.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

std::size_t count_of(const CheckedFile& file, CheckState state)
{
  return static_cast<std::size_t>(
      std::count_if(file.cases.begin(), file.cases.end(),
                    [state](const CheckCase& it) { return it.state == state; }));
}

std::size_t count_of(const std::vector<CheckedFile>& files, CheckState state)
{
  std::size_t count = 0;
  for (const CheckedFile& file : files)
    count += count_of(file, state);
  return count;
}

std::string place_of(const CheckedFile& file, const CheckCase& it)
{
  return it.line.empty() ? file.file : file.file + ":" + it.line;
}

// One line: neither TAP nor GitHub reads more.
std::string one_line(std::string text)
{
  for (char& c : text)
    c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return text;
}

// A message with its hint, in one paragraph.
std::string paragraph(std::string message)
{
  for (std::size_t at = 0; (at = message.find("\n  ", at)) != std::string::npos;)
    message.replace(at, 3, "; ");
  return message;
}

// What XML 1.0 cannot hold goes, the rest is escaped.
std::string xml(const std::string& text)
{
  std::string kept;
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t')
      kept += c;
  for (const std::string_view none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) // U+FFFE, U+FFFF
    for (std::size_t at = 0; (at = kept.find(none, at)) != std::string::npos;)
      kept.erase(at, none.size());
  return escaped(kept);
}

std::string annotated(const std::string& text, bool property)
{
  std::string safe;
  for (const char c : text)
    if (c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ',')))
      safe += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      safe += c;
  return safe;
}

} // namespace

std::string check_table(const std::vector<CheckedFile>& files, const TableStyle& style)
{
  std::string text;
  for (const CheckedFile& file : files) {
    const std::size_t bad = count_of(file, CheckState::failed) + count_of(file, CheckState::error);
    const std::size_t close = count_of(file, CheckState::undecided);
    text += fmt::format("{}  {}: {} of {} passed{}\n", bad > 0 ? "FAIL" : "ok  ", file.file,
                        file.cases.size() - bad - close, file.cases.size(),
                        close > 0 ? fmt::format(", {} too close to tell", close) : "");
    std::map<std::string, std::size_t> undecided; // by expectation: the first speaks for all
    for (const CheckCase& it : file.cases) {
      if (it.state == CheckState::passed || (it.state == CheckState::undecided &&
                                             ++undecided[it.name.substr(0, it.name.find(':'))] > 1))
        continue;
      text += item_text(fmt::format("{}: {}: {}: {}", place_of(file, it), state_name(it.state),
                                    it.name, paragraph(it.message)),
                        style.columns);
    }
    for (const auto& [name, count] : undecided)
      if (count > 1)
        text += item_text(fmt::format("{}: {} more like it are undecided", name, count - 1),
                          style.columns);
  }
  text += fmt::format("\n{} passed, {} too close to tell, {} failed, {} could not run\n",
                      count_of(files, CheckState::passed), count_of(files, CheckState::undecided),
                      count_of(files, CheckState::failed), count_of(files, CheckState::error));
  return text;
}

std::string check_junit(const std::vector<CheckedFile>& files)
{
  std::size_t all = 0;
  for (const CheckedFile& file : files)
    all += file.cases.size();
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"foretrain check\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
      all, count_of(files, CheckState::failed), count_of(files, CheckState::error));
  for (const CheckedFile& file : files) {
    text += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
                        "time=\"{:.3f}\">\n",
                        xml(file.file), file.cases.size(), count_of(file, CheckState::failed),
                        count_of(file, CheckState::error), file.seconds);
    for (const CheckCase& it : file.cases) {
      text += fmt::format("    <testcase classname=\"{}\" name=\"{}\" file=\"{}\"{}>",
                          xml(file.experiment), xml(it.name), xml(file.file),
                          it.line.empty() ? "" : " line=\"" + it.line + "\"");
      const std::string message = xml(it.message);
      if (it.state == CheckState::failed)
        text += fmt::format("<failure message=\"{0}\">{0}</failure>", message);
      else if (it.state == CheckState::error)
        text += fmt::format("<error message=\"{0}\">{0}</error>", message);
      else if (it.state == CheckState::undecided)
        text += "<system-out>undecided: " + message + "</system-out>";
      text += "</testcase>\n";
    }
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

std::string check_tap(const std::vector<CheckedFile>& files)
{
  std::string text = "TAP version 13\n";
  std::size_t number = 0;
  for (const CheckedFile& file : files)
    for (const CheckCase& it : file.cases) {
      const bool bad = it.state == CheckState::failed || it.state == CheckState::error;
      std::string name = one_line(place_of(file, it) + " " + it.name);
      std::replace(name.begin(), name.end(), '#', '.'); // would begin a directive
      text += fmt::format("{} {} - {}\n", bad ? "not ok" : "ok", ++number, name);
      if (it.state != CheckState::passed)
        text += fmt::format("# {}: {}\n", state_name(it.state), one_line(it.message));
    }
  return text + fmt::format("1..{}\n", number);
}

std::string check_github(const std::vector<CheckedFile>& files)
{
  std::string text;
  for (const CheckedFile& file : files)
    for (const CheckCase& it : file.cases) {
      if (it.state == CheckState::passed)
        continue;
      text += fmt::format(
          "::{} file={}{},title={}::{}\n", it.state == CheckState::undecided ? "notice" : "error",
          annotated(file.file, true), it.line.empty() ? "" : ",line=" + it.line,
          annotated(it.name, true), annotated(it.message.empty() ? it.name : it.message, false));
    }
  return text;
}

} // namespace foretrain::experiments
