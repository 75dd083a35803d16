// Logs as a machine with known parameters would print them.
#pragma once

#include "experiments/run/simulate/nccl_tests.hpp"
#include "experiments/spec/profiles.hpp"
#include "models/collectives/library.hpp"
#include "platforms/show.hpp"
#include "tests/support/folder.hpp"

#include <random>
#include <string>

#include <fmt/format.h>

namespace foretrain::test {

/// A folder for one test's logs.
struct LogFolder : Folder {
  LogFolder() : Folder("logs") {}
};

/// The truth behind a log: presets with these values laid over them.
inline std::shared_ptr<Overlay> truth(std::vector<OverlayEntry> entries)
{
  auto overlay = std::make_shared<Overlay>();
  overlay->entries = std::move(entries);
  return overlay;
}

inline platforms::Stack bare_metal(const std::string& network = "rdma")
{
  return {platforms::load_host(resolve_preset(std::string("bare-metal"), platforms::kHostKind)),
          platforms::load_transport(resolve_preset(network, platforms::kTransportKind))};
}

inline std::string p2p_matrix(const std::string& title, const std::string& corner,
                              const std::vector<std::vector<double>>& values)
{
  std::string text = title + "\n   " + corner;
  for (std::size_t i = 0; i < values.size(); ++i)
    text += fmt::format("{:6} ", i);
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += fmt::format("\n{:6} ", i);
    for (const double value : values[i])
      text += fmt::format("{:6.2f} ", value);
  }
  return text + "\n";
}

inline std::string p2p_log(const std::string& platform, const std::shared_ptr<Overlay>& overlay)
{
  const auto spec =
      platforms::load_platform(resolve_preset(platform, platforms::kPlatformKind, overlay));
  const auto with = platforms::peer_matrix(spec, bare_metal(), true);
  const auto without = platforms::peer_matrix(spec, bare_metal(), false);
  std::string text = "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n";
  for (int i = 0; i < spec.gpus_per_node(); ++i)
    text += fmt::format("Device: {}, {}, pciBusID: {:x}, pciDeviceID: 0, pciDomainID:0\n", i,
                        spec.gpu.name, 0x1a + i);
  return text +
         p2p_matrix("Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", "D\\D",
                    without.one_way) +
         p2p_matrix("Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)", "D\\D", with.one_way) +
         p2p_matrix("Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)", "D\\D",
                    without.both_ways) +
         p2p_matrix("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)", "D\\D", with.both_ways) +
         p2p_matrix("P2P=Disabled Latency Matrix (us)", "GPU", without.latency) +
         p2p_matrix("P2P=Enabled Latency Matrix (us)", "GPU", with.latency);
}

inline std::string nccl_log(const std::string& platform, const std::string& library, int gpus,
                            const std::shared_ptr<Overlay>& overlay, double end = 1 << 28,
                            int nodes = 1, std::mt19937* noise = nullptr)
{
  std::lognormal_distribution<double> factor(0, 0.02);
  const auto spec =
      platforms::load_platform(resolve_preset(platform, platforms::kPlatformKind, overlay));
  experiments::NcclTestsOptions options;
  options.gpus_per_node = gpus;
  options.nodes = nodes;
  options.begin = 1024;
  options.end = end;
  options.factor = 4;
  options.library = resolve_preset(library, models::kLibraryKind, overlay);
  const auto* test = experiments::find_nccl_test("all_reduce_perf");
  std::string text = "$ ./build/all_reduce_perf -b 1024 -e 256M -f 4\n# Using devices\n";
  for (int r = 0; r < gpus * nodes; ++r)
    text += fmt::format("#   Rank {:2} Pid {:6} on node{} device {:2} [0x1a] GPU\n", r, 4000 + r,
                        r / gpus, r % gpus);
  text += "#\n#       size         count      type   redop     time   algbw   busbw  error\n"
          "#        (B)    (elements)                       (us)  (GB/s)  (GB/s)\n";
  for (const auto& row : experiments::run_nccl_test(*test, spec, bare_metal(), options)) {
    const double longer = noise != nullptr ? factor(*noise) : 1;
    text += fmt::format("{:12.0f} {:12.0f}  float     sum  {:.3f} {:.3f} {:.3f}  1e-07\n", row.size,
                        row.count, row.time * 1e6 * longer, row.algorithm_bandwidth / 1e9 / longer,
                        row.bus_bandwidth / 1e9 / longer);
  }
  return text;
}

/// iperf3 --json of one TCP connection.
inline std::string iperf3_log(double bytes_per_second, double client_cpu, double server_cpu,
                              int segment, int streams = 1, double asked = 0)
{
  const double bytes = std::floor(2 * bytes_per_second);
  const std::string sum = fmt::format(
      R"({{ "seconds": 2.0, "bytes": {:.0f}, "bits_per_second": {:.1f} }})", bytes, 4 * bytes);
  return fmt::format(R"({{
  "start": {{ "connecting_to": {{ "host": "b" }}, "tcp_mss_default": {},
             "test_start": {{ "protocol": "TCP", "num_streams": {}, "reverse": 0,
                             "target_bitrate": {:.0f} }} }},
  "intervals": [],
  "end": {{ "sum_sent": {}, "sum_received": {},
    "cpu_utilization_percent": {{ "host_total": {:.4f}, "remote_total": {:.4f} }} }}
}})",
                     segment, streams, 8 * asked, sum, sum, 100 * client_cpu, 100 * server_cpu);
}

struct FioRun {
  std::string pattern, block;
  int depth = 1;
  double operations = 0; // per second
  double block_bytes = 0;
  double latency = 0;
};

inline std::string fio_log(const FioRun& run)
{
  const double count = std::floor(run.operations * 10);
  const double bytes = count * run.block_bytes;
  const bool reads = run.pattern.find("read") != std::string::npos;
  const auto side = [&](bool moved) {
    return moved
               ? fmt::format(R"({{ "io_bytes": {:.0f}, "bw_bytes": {:.0f}, "bw": {:.0f},
      "iops": {:.3f}, "runtime": 10000, "total_ios": {:.0f}, "lat_ns": {{ "mean": {:.1f} }} }})",
                             bytes, bytes / 10, bytes / 10240, count / 10, count, run.latency * 1e9)
               : std::string(R"({ "io_bytes": 0, "bw_bytes": 0, "bw": 0, "iops": 0, "runtime": 0,
      "total_ios": 0, "lat_ns": { "mean": 0 } })");
  };
  return fmt::format(R"({{ "fio version": "fio-3.33", "jobs": [ {{ "jobname": "{}", "error": 0,
    "job options": {{ "rw": "{}", "bs": "{}", "iodepth": "{}", "direct": "1" }},
    "read": {}, "write": {} }} ] }})",
                     run.pattern, run.pattern, run.block, run.depth, side(reads), side(!reads));
}

} // namespace foretrain::test
