#include "calibration/mlperf_log.hpp"

#include "calibration/json_log.hpp"
#include "calibration/text_log.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace foretrain::calibration {

namespace {

constexpr const char* kMark = ":::MLLOG";

class MlperfReader {
public:
  explicit MlperfReader(const std::string& name) : name_(name) {}

  void line(const LogLine& line)
  {
    const std::size_t mark = line.text.find(kMark);
    const std::size_t begin =
        mark == std::string::npos ? mark : line.text.find('{', mark + std::string(kMark).size());
    if (begin == std::string::npos)
      return;
    event(Value(parse_document(line.text.substr(begin), fmt::format("{}:{}", name_, line.number))),
          line.number);
  }

  MlperfLog finish()
  {
    if (!seen_)
      throw ConfigError(name_, "", "holds no line \":::MLLOG {...}\" of MLPerf Training");
    if (!started_)
      throw ConfigError(name_, "", "holds no run_start of MLPerf", "is it a whole result log?");
    if (log_.benchmark.empty())
      throw ConfigError(name_, "", "holds no submission_benchmark",
                        "without it nobody knows what was trained");
    return std::move(log_);
  }

private:
  void event(const Value& event, int line)
  {
    const std::string key = log_text(event, "key");
    seen_ = true;
    if (key == "submission_benchmark")
      log_.benchmark = log_text(event, "value");
    else if (key == "submission_org")
      log_.submitter = log_text(event, "value");
    else if (key == "submission_platform")
      log_.platform = log_text(event, "value");
    else if (key == "global_batch_size")
      once(log_.global_batch, event, line);
    else if (key == "train_samples")
      once(log_.train_samples, event, line);
    else if (key == "throughput")
      log_.throughput.push_back(log_number(event, "value"));
    else if (key == "tracked_stats" && log_member(event, "value").json().contains("throughput"))
      log_.throughput.push_back(log_number(event.at("value"), "throughput"));
    else if (key == "run_start")
      started_ = true;
    else if (key == "run_stop")
      stop(event);
    else if (key == "epoch_start")
      epoch_ = log_number(event, "time_ms");
    else if (key == "epoch_stop")
      end_epoch(log_number(event, "time_ms"), line);
    else if (key == "block_start")
      begin_block(event);
    else if (key == "block_stop")
      end_block(log_number(event, "time_ms"), line);
    else if (key == "eval_start" && block_)
      evaluation_ = log_number(event, "time_ms");
    else if (key == "eval_stop" && block_ && evaluation_) {
      block_evaluated_ += log_number(event, "time_ms") - *evaluation_;
      evaluation_.reset();
    }
  }

  // Ranks may tell it, each; another value is of another run.
  void once(double& value, const Value& event, int line) const
  {
    const double told = log_number(event, "value", 1);
    if (value > 0 && told != value)
      fail(name_, line,
           fmt::format("{} is {:g}, and was {:g} before: two runs in one log",
                       log_text(event, "key"), told, value),
           "give each a file of its own");
    value = told;
  }

  // Some programs tell blocks of so many epochs in place of epochs.
  void begin_block(const Value& event)
  {
    const Value metadata = log_member(event, "metadata");
    block_epochs_ = metadata.json().is_object() && metadata.json().contains("epoch_count")
                        ? log_number(metadata, "epoch_count")
                        : 0;
    block_ = log_number(event, "time_ms");
    block_evaluated_ = 0;
    evaluation_.reset();
  }

  void end_block(double at, int line)
  {
    if (!block_)
      return;
    const double trained = at - *block_ - block_evaluated_;
    if (trained <= 0)
      fail(name_, line, "a block stops no later than it starts", "was its clock set meanwhile?");
    if (block_epochs_ > 0)
      log_.blocks.emplace_back(trained * 1e-3 / block_epochs_);
    block_.reset();
  }

  void stop(const Value& event)
  {
    const Value metadata = log_member(event, "metadata");
    if (metadata.json().is_object() && metadata.json().contains("status"))
      log_.status = log_text(metadata, "status");
  }

  void end_epoch(double at, int line)
  {
    if (!epoch_)
      return;
    if (at <= *epoch_)
      fail(name_, line, "an epoch stops no later than it starts", "was its clock set meanwhile?");
    log_.epochs.emplace_back((at - *epoch_) * 1e-3);
    epoch_.reset();
  }

  std::string name_;
  MlperfLog log_;
  bool seen_ = false;                // any event
  bool started_ = false;             // run_start
  std::optional<double> epoch_;      // ms, when the one that runs began
  std::optional<double> block_;      // likewise
  std::optional<double> evaluation_; // likewise, inside a block
  double block_epochs_ = 0;          // 0: not told
  double block_evaluated_ = 0;       // ms
};

template <class T>
T median(std::vector<T> values)
{
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

} // namespace

MlperfLog read_mlperf(const std::string& text, const std::string& name)
{
  MlperfReader reader(name);
  for (const LogLine& line : log_lines(text, name))
    reader.line(line);
  return reader.finish();
}

double samples_per_second(const MlperfLog& log, const std::string& name)
{
  double rate = 0;
  if (!log.throughput.empty())
    rate = median(log.throughput);
  else if (!log.epochs.empty())
    rate = log.train_samples / median(log.epochs).value();
  else if (!log.blocks.empty())
    rate = log.train_samples / median(log.blocks).value();
  if (rate <= 0)
    throw ConfigError(name, "", "tells no rate",
                      "it takes \"throughput\", or \"train_samples\" and a whole epoch "
                      "(epoch_start, epoch_stop) or block of epochs (block_start with epoch_count, "
                      "block_stop)");
  return rate;
}

} // namespace foretrain::calibration
