#include "calibration/fio_log.hpp"

#include "calibration/json_log.hpp"
#include "calibration/text_log.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::calibration {

namespace {

constexpr double kMostInFlight = 1.25; // of the queues: means are of other times than totals

std::optional<FioSide> side(const Value& job, const char* key)
{
  const Value value = log_member(job, key);
  FioSide side;
  side.bytes = Bytes(log_number(value, "io_bytes"));
  if (side.bytes.value() == 0)
    return {};
  const double milliseconds = log_number(value, "runtime");
  side.runtime = Seconds(milliseconds / 1e3);
  const double rate = log_number(value, "bw_bytes");
  side.rate = BytesPerSecond(rate);
  side.operations = PerSecond(log_number(value, "iops"));
  const double kib = log_number(value, "bw");
  if (std::abs(kib * 1024 - rate) > 1024 + 1e-3 * rate)
    log_member(value, "bw")
        .fail(fmt::format("must be bw_bytes / 1024, got {:g} KiB/s beside {:g} "
                          "B/s",
                          kib, rate));
  // fio counts the run time in whole milliseconds.
  const double moved = rate * milliseconds / 1e3;
  if (milliseconds <= 0 ||
      std::abs(moved - side.bytes.value()) > 0.01 * side.bytes.value() + rate * 1e-3 + 4096)
    log_member(value, "bw_bytes")
        .fail(fmt::format("must be io_bytes / runtime, got {:g} B/s for {:.0f} bytes in {:g} ms",
                          rate, side.bytes.value(), milliseconds),
              "was a number edited?");
  const double operations = log_number(value, "total_ios");
  if (std::abs(side.operations.value() * milliseconds / 1e3 - operations) >
      0.01 * operations + 2 + side.operations.value() * 1e-3)
    log_member(value, "iops")
        .fail(fmt::format("must be total_ios / runtime, got {:g} for {:.0f} in "
                          "{:g} ms",
                          side.operations.value(), operations, milliseconds));
  side.mean_latency = Seconds(log_number(log_member(value, "lat_ns"), "mean") * 1e-9);
  return side;
}

bool has_option(const Value& options, const char* key)
{
  return options && options.json().is_object() && options.json().contains(key);
}

std::string option(const Value& job, const Value& global, const char* key)
{
  for (const Value& options : {job, global})
    if (has_option(options, key))
      return log_text(options, key);
  return "";
}

// A whole number among the options; 1 when it is not repeated.
double count(const Value& job, const Value& global, const char* key)
{
  const std::string text = option(job, global, key);
  if (text.empty())
    return 1;
  const auto number = whole_number(text);
  if (!number || *number < 1 || *number > 1000000)
    (job && job.json().contains(key) ? job : global)
        .fail_at(key, "must be a whole number from 1, got '" + excerpt(text) + "'");
  return static_cast<double>(*number);
}

// fio's default is the page cache, and it repeats only options that were given.
bool through_cache(const Value& job, const Value& global)
{
  return option(job, global, "buffered") != "0" &&
         (option(job, global, "direct") == "0" ||
          !(has_option(job, "direct") || has_option(global, "direct")));
}

// Whether fio itself held the job back.
bool held_back(const Value& job, const Value& global)
{
  return std::ranges::any_of(std::array{"rate", "rate_iops", "thinktime"}, [&](const char* key) {
    const std::string asked = option(job, global, key);
    return !asked.empty() && asked != "0";
  });
}

// Little's law: operations in flight are their rate times their latency.
void check_in_flight(const FioJob& job, const Value& value)
{
  double in_flight = 0;
  for (const auto* side : {&job.read, &job.write})
    in_flight += *side ? (*side)->in_flight() : 0;
  if (in_flight > kMostInFlight * job.depth)
    value.fail(fmt::format("has {:.3g} operations in flight (iops x mean latency), and queues of "
                           "{:g}",
                           in_flight, job.depth),
               "was a number edited?");
}

// What ran at the same time, side by side.
void add_side(std::optional<FioSide>& sum, const std::optional<FioSide>& more)
{
  if (!sum || !more) {
    sum = sum ? sum : more;
    return;
  }
  const double in_flight = sum->in_flight() + more->in_flight();
  sum->bytes += more->bytes;
  sum->runtime = std::max(sum->runtime, more->runtime);
  sum->rate += more->rate;
  sum->operations += more->operations;
  sum->mean_latency = Seconds(in_flight / sum->operations.value());
}

// Jobs of one group run together, and have entries of their own without --group_reporting.
void add_to(FioJob& group, const FioJob& job)
{
  group.depth = std::max(group.depth, job.depth);
  group.cached |= job.cached;
  group.throttled |= job.throttled;
  add_side(group.read, job.read);
  add_side(group.write, job.write);
}

} // namespace

bool is_fio(const std::string& text)
{
  return text.find("\"fio version\"") != std::string::npos;
}

FioLog read_fio(const std::string& text, const std::string& name)
{
  // fio puts its warnings before the JSON; their lines are blanked so that positions stay right.
  std::string json = text;
  const std::size_t brace = json.starts_with("{") ? 0 : json.find("\n{");
  if (brace != std::string::npos)
    std::replace_if(
        json.begin(), json.begin() + static_cast<std::ptrdiff_t>(brace),
        [](char c) { return c != '\n'; }, ' ');
  const Value root(parse_document(json, name));
  FioLog log;
  log.version = log_text(root, "fio version");
  if (!log.version.starts_with("fio-") || log.version.size() < 5 || log.version[4] < '3' ||
      log.version[4] > '9')
    root.fail_at("fio version", "must be fio-3 or later, got '" + excerpt(log.version) + "'",
                 "older versions print other units");
  const Value none;
  const Value global = root.json().contains("global options") ? root.at("global options") : none;
  const Value jobs = log_list(root, "jobs");
  std::vector<double> groups; // of the jobs in the log
  for (std::size_t i = 0; i < jobs.json().size(); ++i) {
    const Value value = jobs.at(i);
    FioJob job;
    job.name = log_text(value, "jobname");
    if (log_number(value, "error", -1e9) != 0)
      value.fail_at("error", "the job failed");
    const Value options = value.json().contains("job options") ? value.at("job options") : none;
    job.pattern = option(options, global, "rw");
    job.block_size = option(options, global, "bs");
    job.depth = count(options, global, "iodepth") * count(options, global, "numjobs");
    job.cached = through_cache(options, global);
    job.throttled = held_back(options, global);
    job.read = side(value, "read");
    job.write = side(value, "write");
    if (!job.read && !job.write)
      value.fail("neither read nor wrote");
    // Logs from which options were cut tell no queues.
    if (has_option(options, "iodepth") || has_option(global, "iodepth"))
      check_in_flight(job, value);
    const double group = value.json().contains("groupid") ? log_number(value, "groupid")
                                                          : -1 - static_cast<double>(i); // alone
    const auto known = std::find(groups.begin(), groups.end(), group);
    if (known != groups.end()) {
      add_to(log.jobs[static_cast<std::size_t>(known - groups.begin())], job);
      continue;
    }
    groups.push_back(group);
    log.jobs.push_back(std::move(job));
  }
  if (log.jobs.empty())
    jobs.fail("holds no job");
  return log;
}

} // namespace foretrain::calibration
