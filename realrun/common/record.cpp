#include "realrun/common/record.hpp"

#include "realrun/common/machine.hpp"
#include "realrun/common/record_file.hpp"

#include <cmath>
#include <fstream>
#include <ostream>
#include <stdexcept>

namespace foretrain::realrun {

namespace {

/// Seven significant digits: better than any clock here, and short.
double short_number(double x)
{
  if (x == 0.0 || !std::isfinite(x))
    return x;
  const double scale = std::pow(10.0, 6.0 - std::floor(std::log10(std::abs(x))));
  return std::isfinite(scale) && scale > 0.0 ? std::round(x * scale) / scale : x;
}

Series as_stored(const Series& series)
{
  const bool detail = series.labels.contains("layer") || series.labels.contains("bucket");
  Series stored = thinned(series, detail ? kSamplesPerLabel : kSamplesKept);
  for (auto& samples : stored.repetitions)
    for (double& sample : samples)
      sample = short_number(sample);
  return stored;
}

constexpr std::size_t kShortLine = 240;

bool is_flat(const Json& json)
{
  if (!json.is_structured())
    return true;
  for (const Json& item : json)
    if (item.is_structured() && !item.empty())
      return false;
  return true;
}

void print(const Json& json, std::string& text, const std::string& indent)
{
  const std::string line = json.dump();
  if (line.size() <= kShortLine || is_flat(json)) {
    text += line;
    return;
  }
  const std::string deeper = indent + " ";
  text += json.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& [key, value] : json.items()) {
    text += first ? "\n" : ",\n";
    first = false;
    text += deeper;
    if (json.is_object())
      text += Json(key).dump() + ": ";
    print(value, text, deeper);
  }
  text += "\n" + indent + (json.is_object() ? "}" : "]");
}

} // namespace

Record begin_record(const std::string& kind, const std::string& name, const std::string& program,
                    const std::vector<std::string>& command)
{
  Record record;
  record.kind = kind;
  record.name = name;
  record.program = program;
  record.command = command;
  record.started = utc_now();
  record.machine = describe_machine();
  return record;
}

Json summary_json(const std::vector<std::vector<double>>& repetitions)
{
  std::vector<double> all;
  Json medians = Json::array();
  for (const auto& samples : repetitions) {
    all.insert(all.end(), samples.begin(), samples.end());
    medians.push_back(short_number(summarise(samples).median));
  }
  const Summary s = summarise(all);
  return {{"count", s.count},
          {"min", short_number(s.minimum)},
          {"p10", short_number(s.p10)},
          {"median", short_number(s.median)},
          {"p90", short_number(s.p90)},
          {"max", short_number(s.maximum)},
          {"mean", short_number(s.mean)},
          {"deviation", short_number(s.deviation)},
          {"medians", medians}};
}

Json to_json(const Record& record)
{
  Json series = Json::array();
  for (const Series& given : record.series) {
    const Series s = as_stored(given);
    series.push_back({{"name", s.name},
                      {"unit", s.unit},
                      {"labels", s.labels},
                      {"repetitions", s.repetitions},
                      {"summary", summary_json(s.repetitions)}});
  }
  Json json = {{"format", kRecordFormat},
               {"kind", record.kind},
               {"name", record.name},
               {"made_by",
                {{"program", record.program},
                 {"build", describe_build()},
                 {"command", record.command},
                 {"environment", describe_environment()},
                 {"started", record.started},
                 {"duration_s", short_number(record.duration_s)}}},
               {"machine", record.machine},
               {"settings", record.settings}};
  if (!record.model.is_null())
    json["model"] = record.model;
  json["series"] = series;
  return json;
}

std::string pretty(const Json& json)
{
  std::string text;
  print(json, text, "");
  return text + "\n";
}

void write_record(const Record& record, const std::string& path, std::ostream& out)
{
  const std::string text = pretty(to_json(record));
  check_record(parse_document(text, path.empty() ? "record" : path));
  if (path.empty()) {
    out << text;
    return;
  }
  if (std::ofstream file(path); !(file << text))
    throw std::runtime_error("cannot write the record '" + path + "'");
}

} // namespace foretrain::realrun
