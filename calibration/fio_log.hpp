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
};

struct FioJob {
  std::string name;
  std::string pattern;    // "read", "randread", "write", ...; "" when fio does not repeat it
  std::string block_size; // as given to fio, "" when fio does not repeat it
  double depth = 1;       // operations in flight: iodepth x numjobs
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
