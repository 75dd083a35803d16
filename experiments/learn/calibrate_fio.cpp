// fio: what a disk reads and writes.
#include "calibration/fio_log.hpp"
#include "experiments/learn/calibrate_logs.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kFioSpread = 0.05; // of repeated runs
constexpr double kSmall = 16384;    // bytes of one operation: below, operations count, not bytes
// Assumed, both:
constexpr double kAlone = 1.5;  // operations in flight, up to which they wait for none before them
constexpr double kQueued = 1.5; // times as long as one alone they take where they wait for others

using calibration::FioJob;
using calibration::FioLog;
using calibration::FioSide;

enum Shows : std::size_t { kRead, kWrite, kReadOperations, kLatency };

double bytes_of_one(const FioSide& side)
{
  return side.rate.value() / side.operations.value();
}

bool small_reads(const FioJob& job)
{
  return job.read && !job.write && !job.cached && bytes_of_one(*job.read) <= kSmall;
}

// What a small read takes alone: as measured, else as the disk's description says.
Seconds alone(const std::vector<FioLog>& logs, Seconds described)
{
  Seconds least = Seconds(std::numeric_limits<double>::infinity());
  for (const FioLog& log : logs)
    for (const FioJob& job : log.jobs)
      if (small_reads(job) && job.read->in_flight() <= kAlone)
        least = std::min(least, job.read->mean_latency);
  return std::isfinite(least.value()) ? least : described;
}

// Why a job shows nothing of a disk; "" where it does.
std::string useless(const FioJob& job, Seconds of_one)
{
  if (job.read && job.write)
    return "reads and writes mixed: neither shows what the disk does of it alone";
  if (job.throttled)
    return "held to a rate that was asked for (rate, rate_iops, thinktime): not what the disk does";
  if (job.cached)
    return "direct=0, fio's default: the page cache answers in the disk's place; --direct=1 would "
           "tell";
  if (small_reads(job) && job.read->in_flight() > kAlone &&
      job.read->mean_latency < kQueued * of_one)
    return fmt::format("{:.0f} reads in flight take {:.3g} us each, one alone {:.3g}: not the most "
                       "that the disk does; a deeper queue would tell",
                       job.read->in_flight(), 1e6 * job.read->mean_latency.value(),
                       1e6 * of_one.value());
  return "";
}

struct MeasuredDisk {
  Value type;
  int count = 1; // alike, striped over
};

// The disk that --disk names, else the platform's first, which may be several.
MeasuredDisk disk_of(const Setup& setup, const std::string& log, const OverlayPtr& overlay)
{
  if (!setup.options.disk.empty())
    return {resolve_preset(setup.options.disk, platforms::kDiskKind, overlay)};
  setup.need_platform(log);
  const auto spec = setup.platform(overlay);
  if (spec.node.disks.empty())
    spec.origin.fail("has no disk that '" + log + "' could be of", "name one with --disk");
  return {spec.node.disks.front().type, spec.node.disks.front().count};
}

struct Row {
  Shows shows;
  double in_flight;
  double bytes; // of one operation
};

// What a row shows of so many disks, one operation of which takes `of_one`.
double shown_by(const platforms::Disk& disk, int count, const Row& row, Seconds of_one)
{
  const double rate = count * disk.read.value();
  // As one that trains reads (docs/input.md): each waits for the disk before its bytes come.
  const double stream = row.in_flight * row.bytes / (of_one.value() + row.bytes / rate);
  return row.shows == kRead             ? std::min(rate, stream)
         : row.shows == kWrite          ? count * disk.write.value()
         : row.shows == kReadOperations ? count * disk.read_operations.value()
                                        : disk.latency.value();
}

} // namespace

std::vector<std::string> teach_fio(const std::vector<LogText>& logs, Setup& setup)
{
  const std::string& first = logs.front().path;
  const MeasuredDisk measured = disk_of(setup, first, setup.learnt());
  const Part part = part_of(measured.type, platforms::kDiskKind);
  if (measured.count > 1)
    setup.notes.push_back(fmt::format("{}: taken to be of the platform's {} disks of {} together, "
                                      "striped; --disk {} says that it is of one",
                                      first, measured.count, part.id, part.id));
  FitTask task;
  task.source = "fio";
  task.knobs = {
      {part, "/read", 1e3, 1e13, "fio --rw=read --bs=1M --direct=1"},
      {part, "/write", 1e3, 1e13, "fio --rw=write --bs=1M --direct=1"},
      {part, "/read_operations", 1, 1e9, "fio --rw=randread --bs=4k --iodepth=32 --direct=1"},
      {part, "/latency", 1e-8, 10, "fio --rw=randread --bs=4k --iodepth=1 --direct=1"},
  };
  std::vector<Row> rows; // of each measurement
  std::vector<FioLog> read;
  for (const LogText& text : logs)
    read.push_back(calibration::read_fio(text.text, text.path));
  const auto disk = [&](const OverlayPtr& overlay) {
    return read_as<platforms::Disk>(
        resolve_preset(disk_of(setup, first, overlay).type, platforms::kDiskKind));
  };
  const Seconds of_one = alone(read, disk(setup.learnt()).latency);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const LogText& text = logs[i];
    const auto add = [&](Shows shows, const FioJob& job, const FioSide& side, const char* what,
                         double value) {
      rows.push_back({shows, std::max(1.0, side.in_flight()), bytes_of_one(side)});
      task.measurements.push_back({text.path + " job " + job.name, what, value, kFioSpread});
    };
    const std::size_t before = rows.size();
    for (const FioJob& job : read[i].jobs) {
      if (const std::string why = useless(job, of_one); !why.empty()) {
        setup.notes.push_back(fmt::format("{} job {}: {}; left out", text.path, job.name, why));
        continue;
      }
      if (job.write && bytes_of_one(*job.write) > kSmall)
        add(kWrite, job, *job.write, "write", job.write->rate.value());
      if (!job.read)
        continue;
      const FioSide& it = *job.read;
      if (!small_reads(job))
        add(kRead, job, it, "read", it.rate.value());
      else if (it.in_flight() <= kAlone)
        add(kLatency, job, it, "time of a read", it.mean_latency.value());
      else
        add(kReadOperations, job, it, "reads per second", it.operations.value());
    }
    if (rows.size() == before)
      setup.notes.push_back(text.path + ": nothing in a disk's description depends on "
                                        "what its jobs do");
  }
  std::vector<std::string> taught(logs.size());
  if (task.measurements.empty())
    return taught;
  task.predict = [&](const OverlayPtr& overlay) {
    const platforms::Disk one = disk(overlay);
    std::vector<double> result;
    for (const Row& row : rows)
      result.push_back(shown_by(one, measured.count, row, of_one));
    return result;
  };
  const std::string all = joined(setup.learning.learn(task));
  for (std::string& it : taught)
    it = all;
  return taught;
}

} // namespace foretrain::experiments
