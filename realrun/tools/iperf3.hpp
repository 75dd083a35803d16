// Reads what `iperf3 --json` prints on the client side (TCP).
#pragma once

#include <filesystem>

namespace foretrain::realrun {

struct Iperf3Result {
  double seconds = 0.0;
  double bytes = 0.0;           // received by the server
  double bits_per_second = 0.0; // received
  double retransmits = 0.0;
  double mss = 0.0; // bytes of payload per packet the connection began with
  double client_cpu_fraction = 0.0;
  double server_cpu_fraction = 0.0;
};

/// Throws ConfigError naming the file and the missing part, or iperf3's own error text.
Iperf3Result read_iperf3(const std::filesystem::path& path);

} // namespace foretrain::realrun
