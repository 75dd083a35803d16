// What `iperf3 --json` prints on the client (iperf 3.1 and later), TCP or UDP.
#pragma once

#include "sim/base/units.hpp"

#include <string>
#include <vector>

namespace foretrain::calibration {

struct Iperf3Log {
  std::string host;     // the server as the client named it
  std::string protocol; // "TCP" or "UDP"
  int streams = 1;
  BytesPerSecond asked; // what all streams were held to (-b); zero: nothing
  bool reverse = false; // the server sends
  Bytes segment;        // TCP payload of a packet (MSS); zero when the log does not say
  Seconds duration;
  Bytes bytes;
  BytesPerSecond rate; // received (TCP) or sent less what was lost (UDP)
  double retransmits = 0;
  double lost_fraction = 0; // of UDP packets
  double client_cpu = 0;    // fraction of one core
  double server_cpu = 0;
  std::vector<double> interval; // bytes per second of each reporting interval, warm-up left out
};

bool is_iperf3(const std::string& text);
Iperf3Log read_iperf3_log(const std::string& text, const std::string& name);

} // namespace foretrain::calibration
