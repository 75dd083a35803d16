// The JSON of nccl-tests -J, file version 1 and 2 (nccl-tests source, src/util.cu).
#include "calibration/json_log.hpp"
#include "calibration/nccl_tests_log.hpp"
#include "sim/base/document.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace foretrain::calibration::detail {

namespace {

Value member(const Value& object, const std::string& key)
{
  return log_member(object, key);
}

std::string text_of(const Value& value)
{
  if (!value.json().is_string())
    value.fail("must be a text, got " + value.shown());
  return value.json().get<std::string>();
}

long long whole_of(const Value& value)
{
  const bool whole = value.json().is_number_integer();
  const double number = whole ? value.json().get<double>() : -1;
  if (number < 0 || number > 1e15)
    value.fail("must be a whole number, got " + value.shown());
  return value.json().get<long long>();
}

// Printed with "%lf": six decimals.
Printed number_of(const Value& value)
{
  if (!value.json().is_number())
    value.fail("must be a number, got " + value.shown());
  return {value.json().get<double>(), 0.5e-6};
}

class JsonReader {
public:
  explicit JsonReader(const Value& root) : root_(root) {}

  NcclTestsLog read()
  {
    if (const auto version = whole_of(member(root_, "version")); version < 1 || version > 2)
      root_.fail_at("version", fmt::format("must be 1 or 2, got {}", version));
    const Value args = list(member(root_, "args"));
    for (std::size_t i = 0; i < args.json().size() && log_.collective.empty(); ++i)
      log_.collective = collective_of(text_of(args.at(i)));
    devices(list(member(member(root_, "config"), "devices")));
    const Value results = list(member(root_, "results"));
    for (std::size_t i = 0; i < results.json().size(); ++i)
      row(results.at(i));
    if (root_.json().contains("average_bus_bandwidth")) {
      const Value average = member(root_.at("average_bus_bandwidth"), "bandwidth");
      log_.average_bus_bandwidth = BytesPerSecond(number_of(average).value * 1e9);
      log_.complete = true;
    }
    check_log(log_, root_.document()->name);
    return std::move(log_);
  }

private:
  static Value list(const Value& value)
  {
    if (!value.json().is_array())
      value.fail("must be a list, got " + value.shown());
    return value;
  }

  void devices(const Value& devices)
  {
    std::set<int> seen;
    for (std::size_t i = 0; i < devices.json().size(); ++i) {
      const Value device = devices.at(i);
      NcclRank rank;
      rank.rank = static_cast<int>(std::min(whole_of(member(device, "rank")), 1000000000LL));
      rank.group = static_cast<int>(std::min(whole_of(member(device, "group")), 1000000000LL));
      rank.device = static_cast<int>(std::min(whole_of(member(device, "device")), 1000000000LL));
      rank.host = text_of(member(device, "hostname"));
      rank.gpu = text_of(member(device, "device_info"));
      if (!seen.insert(rank.rank).second)
        member(device, "rank").fail("appears twice");
      log_.ranks.push_back(std::move(rank));
    }
    // A process lists several GPUs in one text and writes only the first to the file.
    const Value config = root_.at("config");
    const auto per_process =
        whole_of(member(config, "nthreads")) * whole_of(member(config, "ngpus"));
    log_.gpus_per_thread =
        static_cast<int>(std::clamp(whole_of(member(config, "ngpus")), 1LL, 1024LL));
    if (per_process > 1) {
      log_.ranks.clear();
      add_note(log_, "the file lists one rank of each process only: ranks are not known");
    }
  }

  void row(const Value& value)
  {
    NcclRow row;
    row.size = Bytes(static_cast<double>(whole_of(member(value, "size"))));
    row.count = whole_of(member(value, "count"));
    row.type = text_of(member(value, "type"));
    row.operation = text_of(member(value, "redop"));
    std::string root = text_of(member(value, "root"));
    root.erase(0, root.find_first_not_of(' '));
    const auto number = whole_number(root);
    if (!number && root != "-1")
      member(value, "root").fail("must be a rank or -1, got '" + excerpt(root) + "'");
    row.root = static_cast<int>(std::min(number.value_or(-1), 1000000000LL));
    std::vector<PrintedTiming> printed;
    const Value first = member(value, "out_of_place");
    if (first.json().is_null())
      first.fail("is missing: runs of replayed traces are not read");
    row.out_of_place = timing(first, printed);
    if (value.json().contains("in_place") && !value.at("in_place").json().is_null())
      row.in_place = timing(value.at("in_place"), printed);
    check_row(log_, row, printed, [&](const std::string& problem, const std::string& hint) {
      value.fail(problem, hint);
    });
    log_.rows.push_back(std::move(row));
  }

  NcclTiming timing(const Value& value, std::vector<PrintedTiming>& printed)
  {
    PrintedTiming values;
    if (!value.json().is_object())
      value.fail("must be an object, got " + value.shown());
    values.cpu_time = value.json().contains("cpu_time");
    values.time_us = number_of(member(value, values.cpu_time ? "cpu_time" : "time"));
    values.algbw = number_of(member(value, "alg_bw"));
    values.busbw = number_of(member(value, "bus_bw"));
    NcclTiming timing{Seconds(values.time_us.value * 1e-6),
                      BytesPerSecond(values.algbw.value * 1e9),
                      BytesPerSecond(values.busbw.value * 1e9),
                      {}};
    if (const Value wrong = member(value, "nwrong"); !wrong.json().is_null())
      timing.wrong = number_of(wrong).value;
    printed.push_back(values);
    return timing;
  }

  Value root_;
  NcclTestsLog log_;
};

} // namespace

NcclTestsLog read_nccl_tests_json(const std::string& text, const std::string& name)
{
  return JsonReader(Value(parse_document(text, name))).read();
}

} // namespace foretrain::calibration::detail
