// What the bandwidth tests of perftest print (ib_write_bw, ib_read_bw, ib_send_bw): one way,
// between two adapters.
#pragma once

#include "calibration/text_log.hpp"
#include "sim/base/units.hpp"

namespace foretrain::calibration {

struct PerftestRow {
  Bytes size;
  BytesPerSecond average; // of the data, headers left out
  int line = 0;
};

struct PerftestLog {
  std::string test;              // "RDMA_Write BW Test"
  std::string link;              // "IB" or "Ethernet"; empty: not told
  Bytes mtu;                     // payload of a packet; 0: not told
  std::vector<PerftestRow> rows; // by size
};

bool is_perftest(const std::string& text);

/// perftest's MB are 2^20 bytes (perftest_parameters.c: 0x100000), its Gb 10^9 bits. Throws
/// ConfigError with file and line, also for tests of both directions at once, whose sum tells no
/// rate one way.
PerftestLog read_perftest(const std::string& text, const std::string& name);

} // namespace foretrain::calibration
