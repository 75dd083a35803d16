// What CUDA's sample p2pBandwidthLatencyTest prints: matrices of bandwidth and latency between the
// GPUs of a node, with and without peer access.
#pragma once

#include "calibration/text_log.hpp"

namespace foretrain::calibration {

struct P2pMatrix {
  enum class Quantity { one_way, both_ways, latency };
  Quantity quantity = Quantity::one_way;
  bool peer_access = false;
  std::string transfer; // "Writes" or "Reads" where the sample tells
  std::string clock;    // of latencies: "GPU" or "CPU" where the sample tells
  int line = 0;         // of the title
  /// [from][to], bytes per second or seconds. The diagonal is a copy inside the device.
  std::vector<std::vector<double>> values;
};

struct P2pLog {
  std::vector<std::string> gpus; // names, where listed
  std::vector<P2pMatrix> matrices;

  std::size_t devices() const { return matrices.front().values.size(); }
};

bool is_p2p_test(const std::string& text);

/// Throws ConfigError with file and line.
P2pLog read_p2p_test(const std::string& text, const std::string& name);

} // namespace foretrain::calibration
