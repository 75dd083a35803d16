// What `fio --output-format=json` prints (fio 3 and later).
#pragma once

#include "sim/base/units.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::calibration {

struct FioSide {
  Bytes bytes;
  Seconds runtime;
  BytesPerSecond rate;
  PerSecond operations;
  Seconds mean_latency; // submission to completion

  /// Operations in flight, by Little's law: an engine that waits for each has one at any depth.
  double in_flight() const { return operations.value() * mean_latency.value(); }
};

/// Jobs of one group, which run at the same time, are one.
struct FioJob {
  std::string name;
  std::string pattern;    // "read", "randread", "write", ...; "" when fio does not repeat it
  std::string block_size; // as given to fio, "" when fio does not repeat it
  double depth = 1;       // operations in flight that were asked for: iodepth x numjobs
  bool throttled = false; // held to a rate that was asked for
  bool cached = false;    // through the page cache: direct=0, which is fio's default
  std::optional<FioSide> read;
  std::optional<FioSide> write;
};

struct FioLog {
  std::string version; // "fio-3.33"
  std::vector<FioJob> jobs;
};

bool is_fio(const std::string& text);
FioLog read_fio(const std::string& text, const std::string& name);

} // namespace foretrain::calibration
