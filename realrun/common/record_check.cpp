// Reading records: the strict description first, then what a description cannot say.
#include "realrun/common/record.hpp"
#include "realrun/common/record_file.hpp"

#include <cmath>

namespace foretrain::realrun {

namespace {

void check_flat(const Value& object, const char* what)
{
  if (!object.json().is_object())
    object.fail(std::string(what) + " must be an object, got " + object.shown());
  for (const auto& [key, value] : object.json().items())
    if (value.is_structured() || value.is_null())
      object.at(key).fail("must be a number, a text or a flag, got " + object.at(key).shown());
}

bool same(double a, double b)
{
  return std::abs(a - b) <= 2e-6 * std::max(std::abs(a), std::abs(b)) + 1e-300;
}

void check_summary(const SeriesFile& series)
{
  if (series.repetitions.empty())
    series.at.fail_at("repetitions", "must hold at least one repetition");
  for (std::size_t i = 0; i < series.repetitions.size(); ++i)
    if (series.repetitions[i].empty())
      series.at.at("repetitions").at(i).fail("must hold at least one sample");
  const Json expected = summary_json(series.repetitions);
  const Value summary = series.at.at("summary");
  for (const auto& [key, value] : expected.items()) {
    const Json& found = summary.at(key).json();
    bool equal =
        key != "medians" && same(found.get<double>(), value.is_array() ? 0.0 : value.get<double>());
    if (key == "medians") {
      equal = found.size() == value.size();
      for (std::size_t i = 0; equal && i < value.size(); ++i)
        equal = same(found[i].get<double>(), value[i].get<double>());
    }
    // A deviation is a difference of nearly equal numbers: compare it on the samples' scale.
    if (key == "deviation")
      equal = std::abs(found.get<double>() - value.get<double>()) <=
              1e-6 * (std::abs(series.summary.mean) + value.get<double>()) + 1e-300;
    if (!equal)
      summary.at(key).fail("disagrees with the samples, which give " + value.dump(),
                           "was the file edited by hand?");
  }
}

void check_time(const Value& started)
{
  const std::string text = started.json().get<std::string>();
  const std::string form = "dddd-dd-ddTdd:dd:ddZ";
  bool ok = text.size() == form.size();
  for (std::size_t i = 0; ok && i < form.size(); ++i)
    ok = form[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
  if (!ok)
    started.fail("must be a UTC time like 2025-01-31T12:00:00Z, got " + started.shown());
}

} // namespace

const std::vector<std::string>& record_kinds()
{
  static const std::vector<std::string> kinds{"training", "gemm",    "elementwise",
                                              "copy",     "launch",  "all-reduce",
                                              "input",    "network", "shared"};
  return kinds;
}

const std::vector<std::string>& record_units()
{
  static const std::vector<std::string> units{"s",      "byte",     "byte/s", "flop",
                                              "flop/s", "sample/s", "packet", "packet/s",
                                              "s/byte", "fraction", "1"};
  return units;
}

Record check_record(const DocumentPtr& document)
{
  const Value root(document);
  const auto file = read_as<RecordFile>(root);
  check_flat(file.settings, "settings");
  check_flat(file.made_by.environment, "environment");
  check_time(root.at("made_by").at("started"));
  if (file.made_by.command.empty())
    root.at("made_by").fail_at("command", "must hold the command line");
  if (file.series.empty())
    root.fail_at("series", "must hold at least one series");
  Record record;
  for (const SeriesFile& series : file.series) {
    check_flat(series.labels, "labels");
    check_summary(series);
    record.series.push_back({series.name, series.unit, series.labels.json(), series.repetitions});
  }
  record.kind = file.kind;
  record.name = file.name;
  record.program = file.made_by.program;
  record.command = file.made_by.command;
  record.started = file.made_by.started;
  record.duration_s = file.made_by.duration_s;
  record.machine = root.at("machine").json();
  record.settings = file.settings.json();
  if (file.model)
    record.model = file.model->json();
  return record;
}

Record read_record(const std::filesystem::path& path)
{
  return check_record(load_document(path));
}

} // namespace foretrain::realrun
