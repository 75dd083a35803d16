#include "calibration/iperf3_log.hpp"

#include "calibration/json_log.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::calibration {

namespace {

// bits_per_second of `sum`, which must be 8 x bytes / seconds.
double rate_of(const Value& sum)
{
  const double bytes = log_number(sum, "bytes");
  const double seconds = log_number(sum, "seconds");
  const double bits = log_number(sum, "bits_per_second");
  if (seconds <= 0 || std::abs(bits * seconds - 8 * bytes) > 2e-3 * 8 * bytes + 8)
    log_member(sum, "bits_per_second")
        .fail(fmt::format("must be 8 x bytes / seconds, got {:g} for {:.0f} bytes in {:g} s", bits,
                          bytes, seconds),
              "was a number edited?");
  return bits / 8;
}

void intervals(const Value& root, Iperf3Log& log)
{
  const Value list = log_list(root, "intervals");
  for (std::size_t i = 0; i < list.json().size(); ++i) {
    const Value sum = log_member(list.at(i), "sum");
    const Value omitted = log_member(sum, "omitted");
    if (!omitted.json().is_boolean())
      omitted.fail("must be true or false, got " + omitted.shown());
    const double rate = log_number(sum, "bytes") == 0 ? 0 : rate_of(sum);
    if (!omitted.json().get<bool>())
      log.interval.push_back(rate);
  }
}

} // namespace

bool is_iperf3(const std::string& text)
{
  const auto has = [&text](const char* key) { return text.find(key) != std::string::npos; };
  return has("\"intervals\"") && (has("\"test_start\"") || has("\"error\"")); // it failed
}

Iperf3Log read_iperf3_log(const std::string& text, const std::string& name)
{
  const Value root(parse_document(text, name));
  if (root.json().is_object() && root.json().contains("error"))
    root.at("error").fail("iperf3 failed: " + excerpt(log_text(root, "error"), 200));
  Iperf3Log log;
  const Value start = log_member(root, "start");
  const Value test = log_member(start, "test_start");
  log.protocol = log_text(test, "protocol");
  if (log.protocol != "TCP" && log.protocol != "UDP")
    log_member(test, "protocol").fail("must be TCP or UDP, got '" + excerpt(log.protocol) + "'");
  log.streams = static_cast<int>(std::min(log_number(test, "num_streams", 1), 1e6));
  if (test.json().contains("target_bitrate")) // of each stream
    log.asked = BytesPerSecond(log_number(test, "target_bitrate") / 8 * log.streams);
  log.reverse = log_number(test, "reverse") != 0;
  if (test.json().contains("bidir") && log_number(test, "bidir") != 0)
    log_member(test, "bidir").fail("runs in both directions at once (--bidir) are not read");
  if (!start.json().contains("connecting_to"))
    start.fail_at("connecting_to", "is missing", "this is the server's side; give the client's");
  log.host = log_text(log_member(start, "connecting_to"), "host");
  for (const char* key : {"tcp_mss_default", "tcp_mss"}) // the latter: as asked for with -M
    if (start.json().contains(key) && log_number(start, key) > 0)
      log.segment = Bytes(log_number(start, key));
  if (log.segment.value() > 65535)
    start.fail("has a TCP segment size above 65535");
  intervals(root, log);
  const Value end = log_member(root, "end");
  const bool udp = log.protocol == "UDP";
  const Value sum = log_member(end, udp ? "sum" : "sum_received");
  log.bytes = Bytes(log_number(sum, "bytes"));
  log.duration = Seconds(log_number(sum, "seconds"));
  log.rate = BytesPerSecond(rate_of(sum));
  if (udp) {
    log.lost_fraction = log_number(sum, "lost_percent") / 100;
    if (log.lost_fraction > 1)
      log_member(sum, "lost_percent").fail("must be at most 100");
    log.rate *= 1 - log.lost_fraction;
  } else if (const Value sent = log_member(end, "sum_sent");
             sent.json().is_object() && sent.json().contains("retransmits")) {
    rate_of(sent);
    log.retransmits = log_number(sent, "retransmits");
  }
  const Value cpu = log_member(end, "cpu_utilization_percent");
  log.client_cpu = log_number(cpu, "host_total") / 100;
  log.server_cpu = log_number(cpu, "remote_total") / 100;
  return log;
}

} // namespace foretrain::calibration
