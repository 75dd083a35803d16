#include "experiments/report/report_csv.hpp"

#include "experiments/report/report_html_rows.hpp"
#include "experiments/run/keep/result_columns.hpp"
#include "experiments/run/keep/result_json.hpp"
#include "sim/base/json_text.hpp"
#include "sim/base/text.hpp"

#include <charconv>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// A cell that a spreadsheet would run is led by an apostrophe, which shows it as text (OWASP, CSV
// injection); numbers stay numbers. Control characters would speak to the terminal.
std::string harmless(const std::string& field)
{
  std::string text;
  for (const char c : field)
    text += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t' ? '?' : c;
  double number = 0;
  const char* const end = text.data() + text.size();
  const bool is_number = std::from_chars(text.data(), end, number).ptr == end;
  if (!text.empty() && !is_number &&
      std::string("=+-@\t\r").find(text.front()) != std::string::npos)
    text.insert(0, "'");
  return text;
}

std::string quoted(const std::string& raw)
{
  std::string field = harmless(raw);
  if (field.find_first_of(",\"\r\n") == std::string::npos)
    return field;
  std::string text = "\"";
  for (const char c : field)
    text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

// Numbers with all their digits.
std::string field(const Json& job, const std::string& pointer)
{
  const auto number = number_at(job, pointer.c_str());
  return number ? fmt::format("{}", *number) : text_at(job, pointer.c_str());
}

std::string busiest_text(const ReportRow& row)
{
  std::vector<std::string> uses;
  if (row.job)
    for (const ResourceUse& use : row.job->busiest)
      uses.push_back(fmt::format("{} {:.3f}", use.resource, use.utilisation));
  return joined(uses, "; ");
}

} // namespace

std::string csv_line(const std::vector<std::string>& fields)
{
  std::vector<std::string> safe;
  for (const std::string& field : fields)
    safe.push_back(quoted(field));
  return joined(safe, ",") + "\r\n";
}

std::string report_csv(const ExperimentResult& result)
{
  const Report report(result);
  std::vector<std::string> header{"point"};
  header.insert(header.end(), report.settings().begin(), report.settings().end());
  header.emplace_back("job");
  for (const Column& column : result_columns())
    header.push_back(column.name);
  header.emplace_back("busiest");
  header.emplace_back("error");

  std::string text = csv_line(header);
  for (const ReportRow& row : report.rows()) {
    std::vector<std::string> fields{std::to_string(row.point + 1)};
    for (const std::string& pointer : report.settings()) {
      const Json& value = setting_at(row, pointer);
      fields.push_back(value.is_null() ? "" : value_text(value));
    }
    fields.push_back(row.name);
    const Json job = row.job ? written(*row.job) : Json::object();
    for (const Column& column : result_columns())
      fields.push_back(field(job, column.pointer));
    fields.push_back(busiest_text(row));
    fields.push_back(row.error);
    text += csv_line(fields);
  }
  return text;
}

} // namespace foretrain::experiments
