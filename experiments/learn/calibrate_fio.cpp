// fio: what a disk reads and writes.
#include "calibration/fio_log.hpp"
#include "experiments/learn/calibrate_logs.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kFioSpread = 0.05; // of repeated runs
constexpr double kSmall = 16384;    // bytes of one operation: below, operations count, not bytes

// The disk that --disk names, else the platform's first.
Value disk_of(const Setup& setup, const std::string& log,
              const std::shared_ptr<const Overlay>& overlay)
{
  if (!setup.options.disk.empty())
    return resolve_preset(setup.options.disk, platforms::kDiskKind, overlay);
  setup.need_platform(log);
  const auto spec = setup.platform(overlay);
  if (spec.node.disks.empty())
    spec.origin.fail("has no disk that '" + log + "' could be of", "name one with --disk");
  return spec.node.disks.front().type;
}

} // namespace

std::vector<std::string> teach_fio(const std::vector<LogText>& logs, Setup& setup)
{
  const std::string& first = logs.front().path;
  const Part part = part_of(disk_of(setup, first, setup.learnt()), platforms::kDiskKind);
  FitTask task;
  task.source = "fio";
  task.knobs = {
      {part, "/read", 1e3, 1e13, "fio --rw=read --bs=1M --direct=1"},
      {part, "/write", 1e3, 1e13, "fio --rw=write --bs=1M --direct=1"},
      {part, "/read_operations", 1, 1e9, "fio --rw=randread --bs=4k --iodepth=32 --direct=1"},
      {part, "/latency", 1e-8, 10, "fio --rw=randread --bs=4k --iodepth=1 --direct=1"},
  };
  std::vector<std::size_t> of_knob; // of each measurement
  const auto add = [&](std::size_t knob, const LogText& log, const calibration::FioJob& job,
                       const char* what, double value) {
    of_knob.push_back(knob);
    task.measurements.push_back({log.path + " job " + job.name, what, value, kFioSpread});
  };
  std::vector<std::string> taught;
  for (const LogText& text : logs) {
    const std::size_t before = of_knob.size();
    for (const calibration::FioJob& job : calibration::read_fio(text.text, text.path).jobs) {
      if (job.read && job.write) {
        setup.notes.push_back(
            fmt::format("{} job {}: reads and writes mixed: neither shows what the "
                        "disk does of it alone; left out",
                        text.path, job.name));
        continue;
      }
      for (const auto* side : {&job.read, &job.write}) {
        if (!*side)
          continue;
        const calibration::FioSide& it = **side;
        const double size = it.rate.value() / it.operations.value(); // of one operation
        const bool reads = side == &job.read;
        if (size > kSmall)
          add(reads ? 0 : 1, text, job, reads ? "read" : "write", it.rate.value());
        else if (reads && job.depth == 1)
          add(3, text, job, "time of a read", it.mean_latency.value());
        else if (reads)
          add(2, text, job, "reads per second", it.operations.value());
      }
    }
    if (of_knob.size() == before)
      setup.notes.push_back(text.path + ": nothing in a disk's description depends on "
                                        "what its jobs do");
    taught.emplace_back();
  }
  if (task.measurements.empty())
    return taught;
  task.predict = [&](const std::shared_ptr<const Overlay>& overlay) {
    const auto spec = read_as<platforms::Disk>(
        resolve_preset(disk_of(setup, first, overlay), platforms::kDiskKind));
    const double values[] = {spec.read.value(), spec.write.value(), spec.read_operations.value(),
                             spec.latency.value()};
    std::vector<double> result;
    for (const std::size_t knob : of_knob)
      result.push_back(values[knob]);
    return result;
  };
  const std::string all = joined(setup.learning.learn(task));
  for (std::string& it : taught)
    it = all;
  return taught;
}

} // namespace foretrain::experiments
