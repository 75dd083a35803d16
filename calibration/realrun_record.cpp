#include "calibration/realrun_record.hpp"

#include "calibration/json_log.hpp"
#include "sim/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::calibration {

namespace {

constexpr const char* kFormat = "foretrain.measurement/1";

int whole(const Value& object, const char* key, double low)
{
  const double number = log_number(object, key, low);
  if (number != static_cast<int>(std::min(number, 1e9)))
    log_member(object, key).fail("must be a whole number, got " + log_member(object, key).shown());
  return static_cast<int>(number);
}

bool has(const Value& object, const char* key)
{
  return object.json().contains(key);
}

// All samples of one series, in the unit it must have. A clock may have missed a short layer.
std::vector<double> samples_of(const Value& one, const std::string& unit, bool may_be_zero = false)
{
  if (log_text(one, "unit") != unit)
    one.fail_at("unit", "must be " + unit + ", got " + one.at("unit").shown());
  std::vector<double> all;
  const Value repetitions = log_list(one, "repetitions");
  for (std::size_t r = 0; r < repetitions.json().size(); ++r) {
    const Value repetition = repetitions.at(r);
    if (!repetition.json().is_array())
      repetition.fail("must be a list of numbers, got " + repetition.shown());
    for (const Json& sample : repetition.json()) {
      if (!sample.is_number() || sample.get<double>() < 0 ||
          (sample.get<double>() <= 0 && !may_be_zero))
        repetition.fail("must hold positive numbers, got " + excerpt(sample.dump()));
      all.push_back(sample.get<double>());
    }
  }
  if (all.empty())
    one.fail_at("repetitions", "holds no samples");
  return all;
}

// The same of the series without labels.
std::vector<double> samples(const Value& root, const std::string& name, const std::string& unit)
{
  const Value series = log_list(root, "series");
  for (std::size_t i = 0; i < series.json().size(); ++i)
    if (const Value one = series.at(i);
        log_text(one, "name") == name && log_member(one, "labels").json().empty())
      return samples_of(one, unit);
  series.fail("holds no series '" + name + "' of the whole run", "is the file complete?");
}

double middle_of(std::vector<double> values)
{
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What the layers of each kind and the update took.
std::map<std::string, double> read_parts(const Value& root)
{
  std::map<std::string, double> parts;
  const Value series = log_list(root, "series");
  for (std::size_t i = 0; i < series.json().size(); ++i) {
    const Value one = series.at(i);
    const std::string name = log_text(one, "name");
    const Value labels = log_member(one, "labels");
    const bool forward = name == "layer_forward";
    if (forward || name == "layer_backward")
      parts[log_text(labels, "kind") + (forward ? " forward" : " backward")] +=
          middle_of(samples_of(one, "s", true));
    else if (name == "optimizer" && labels.json().empty())
      parts[name] += middle_of(samples_of(one, "s", true));
  }
  return parts;
}

double read_functions(const Value& root)
{
  double sum = 0;
  const Value series = log_list(root, "series");
  for (std::size_t i = 0; i < series.json().size(); ++i) {
    const Value one = series.at(i);
    if (!log_text(one, "name").starts_with("layer_") ||
        log_text(log_member(one, "labels"), "kind") != "gelu")
      continue;
    const auto steps = samples_of(one, "s", true);
    sum += *std::min_element(steps.begin(), steps.end());
  }
  return sum;
}

void read_neighbours(const Value& settings, TrainingRecord& record)
{
  if (has(settings, "path"))
    record.path = log_text(settings, "path");
  if (has(settings, "link_rate_Mb_per_s"))
    record.link_rate = BytesPerSecond(log_number(settings, "link_rate_Mb_per_s", 0) * 1e6 / 8);
  if (has(settings, "tenants"))
    record.tenants = whole(settings, "tenants", 1);
  if (has(settings, "tenant"))
    record.tenant = whole(settings, "tenant", 0);
  if (has(settings, "isolation"))
    record.isolation = log_text(settings, "isolation");
  if (record.isolation == "wire")
    record.path = "host";
}

} // namespace

bool is_realrun_record(const std::string& text)
{
  return text.find(fmt::format("\"{}\"", kFormat)) != std::string::npos;
}

std::string record_kind(const Value& root)
{
  if (log_text(root, "format") != kFormat)
    root.fail_at("format", fmt::format("must be '{}', got {}", kFormat, root.at("format").shown()));
  return log_text(root, "kind");
}

NetworkRecord read_network_record(const Value& root)
{
  if (record_kind(root) != "network")
    root.fail_at("kind", "must be 'network', got " + root.at("kind").shown());
  NetworkRecord record;
  record.name = log_text(root, "name");
  const Value settings = log_member(root, "settings");
  record.path = log_text(settings, "path");
  record.offload = log_text(settings, "offload") == "on";
  record.shaped = log_number(settings, "link_rate_Mb_per_s", 0) > 0;
  record.segment = Bytes(samples(root, "mss", "byte").front());
  record.cpu_s_per_byte = samples(root, "cpu_kernel_per_byte", "s/byte");
  return record;
}

TrainingRecord read_training_record(const Value& root)
{
  if (record_kind(root) != "training")
    root.fail_at("kind", "must be 'training', got " + root.at("kind").shown(),
                 "only training runs can be compared with predictions of training");
  TrainingRecord record;
  record.name = log_text(root, "name");
  record.program = log_text(log_member(root, "made_by"), "program");
  const Value machine = log_member(root, "machine");
  record.cores = whole(machine, "cores", 1);
  record.cores_allowed =
      std::max(1, static_cast<int>(log_list(machine, "cpus_allowed").json().size()));
  const Value settings = log_member(root, "settings");
  record.ranks = whole(settings, "world", 1);
  record.batch = whole(settings, "batch", 1);
  record.bucket = Bytes(log_number(settings, "bucket_bytes", 1));
  record.overlap = log_text(settings, "overlap") == "on";
  record.input = log_text(settings, "input");
  record.decode_threads = whole(settings, "decode_threads", 1);
  record.precision = log_text(settings, "precision");
  record.parameters = log_number(settings, "parameters", 1);
  read_neighbours(settings, record);
  record.model = log_member(root, "model").json();
  record.throughput = samples(root, "throughput", "sample/s");
  record.step_s = samples(root, "step_time", "s");
  record.parts = read_parts(root);
  record.functions_s = read_functions(root);
  return record;
}

TrainingRecord read_training_record(const std::filesystem::path& path)
{
  return read_training_record(Value(load_document(path)));
}

} // namespace foretrain::calibration
