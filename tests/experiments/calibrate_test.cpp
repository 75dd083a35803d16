// Logs of machines whose parameters are known: calibrate must find them, and nothing else.
#include "experiments/learn/calibrate.hpp"

#include "calibration/nccl_tests_log.hpp"

#include "experiments/learn/calibrate_training.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"
#include "tests/experiments/calibrate_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/damage.hpp"

#include <set>

namespace foretrain::calibrate_test {

using namespace foretrain::experiments;
using namespace foretrain::test;
using Catch::Matchers::Contains;
using Catch::Matchers::WithinRel;

namespace {

double si(const Value& value)
{
  return value.json().is_number() ? value.json().get<double>()
                                  : parse_measure(value.json().get<std::string>())->si();
}

const calibration::ProfileParameter* find(const Calibration& c, const std::string& pointer)
{
  for (const auto& p : c.profile.parameters)
    if (p.pointer == pointer)
      return &p;
  return nullptr;
}

double learnt(const Calibration& c, const std::string& pointer)
{
  const auto* p = find(c, pointer);
  REQUIRE(p != nullptr);
  CHECK(si(p->spread) > 0);
  return si(p->value);
}

bool refused(const Calibration& c, const std::string& pointer)
{
  for (const auto& r : c.profile.refused)
    if (r.parameter.find(pointer) != std::string::npos)
      return !r.reason.empty() && find(c, pointer) == nullptr;
  return false;
}

std::string error_of(const std::vector<std::string>& logs, const CalibrateOptions& options)
{
  try {
    calibrate(logs, options);
  } catch (const ConfigError& error) {
    return error.what();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST_CASE("copies teach link efficiencies and latencies", "[calibrate]")
{
  const LogFolder folder;
  const std::string log = folder.write(
      "p2p.log", p2p_log("c4140-k-v100-sxm2",
                         truth({{"gpu", "v100-sxm2-16gb", "/nvlink_copy_efficiency", 0.8, "t"},
                                {"gpu", "v100-sxm2-16gb", "/memory_efficiency", 0.7, "t"},
                                {"gpu", "v100-sxm2-16gb", "/copy_latency", "2.5 us", "t"},
                                {"gpu", "v100-sxm2-16gb", "/peer_latency", "5 us", "t"},
                                {"gpu", "v100-sxm2-16gb", "/host_hop_latency", "6 us", "t"},
                                {"cpu", "xeon-gold-6148", "/root_port_duplex", "17 GB/s", "t"}})));
  const Calibration c = calibrate({log}, {.platform = "c4140-k-v100-sxm2"});
  CHECK_THAT(learnt(c, "/nvlink_copy_efficiency"), WithinRel(0.8, 1e-3));
  CHECK_THAT(learnt(c, "/memory_efficiency"), WithinRel(0.7, 1e-3));
  CHECK_THAT(learnt(c, "/copy_latency"), WithinRel(2.5e-6, 5e-3));
  CHECK_THAT(learnt(c, "/peer_latency"), WithinRel(5e-6, 5e-3));
  CHECK_THAT(learnt(c, "/host_hop_latency"), WithinRel(6e-6, 5e-3));
  CHECK_THAT(learnt(c, "/root_port_duplex"), WithinRel(17e9, 2e-3));
  CHECK(refused(c, "/socket_link")); // all GPUs hang on one socket
  CHECK(c.profile.outliers.empty());
  CHECK(find(c, "/copy_latency")->preset == "v100-sxm2-16gb");
  std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a of 64 bits, as its authors have it
  for (const char byte : read_file(log)) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3;
  }
  CHECK(c.profile.logs.at(0).digest == fmt::format("fnv1a64:{:016x}", hash));
}

TEST_CASE("a median is of the values in order", "[calibrate]")
{
  CHECK(median_of({3, 1, 2}) == 2);
  CHECK(median_of({4, 1, 3, 2}) == 2.5);
  CHECK(median_of({7}) == 7);
}

TEST_CASE("collectives teach latencies, and only of what they ran over", "[calibrate][long]")
{
  const LogFolder folder;
  const auto machine =
      truth({{"gpu", "v100-sxm2-16gb", "/nvlink_collective_efficiency", 0.7, "t"},
             {"library", "nccl-2.4", "/protocols/0/ring_base", "9.9 us", "t"},
             {"library", "nccl-2.4", "/protocols/0/ring_hop/nvlink", "0.9 us", "t"},
             {"library", "nccl-2.4", "/protocols/0/tree_hop/nvlink", "0.9 us", "t"},
             {"library", "nccl-2.4", "/protocols/0/tree_base", "10.2 us", "t"}});
  const std::string log = folder.write("nccl.log", nccl_log("dgx1-v100", "nccl-2.4", 8, machine));
  const Calibration c = calibrate({log}, {.platform = "dgx1-v100", .library = "nccl-2.4"});
  CHECK_THAT(learnt(c, "/nvlink_collective_efficiency"), WithinRel(0.7, 0.01));
  CHECK_THAT(learnt(c, "/protocols/0/ring_base"), WithinRel(9.9e-6, 0.01));
  CHECK_THAT(learnt(c, "/protocols/0/ring_hop/nvlink"), WithinRel(0.9e-6, 0.01));
  CHECK(find(c, "/protocols/0/ring_hop/network") == nullptr);
  CHECK(refused(c, "/root_port_duplex"));
  CHECK(c.profile.parameters.front().residuals->maximum < 0.02);
  // The two latencies of a protocol were fitted by one factor.
  bool tied = false;
  for (const auto& it : c.profile.correlations)
    tied |= it.value == 1;
  CHECK(tied);
}

TEST_CASE("latencies of a generation of GPUs are learnt in a node, and the network's keep theirs",
          "[calibrate][long]")
{
  const LogFolder folder;
  const std::string own = "/protocols/0/gpu_latencies/0";
  const auto machine = truth({{"library", "nccl-2.18", own + "/base", "16.2 us", "t"},
                              {"library", "nccl-2.18", own + "/nvlink_hop", "1.96 us", "t"},
                              {"library", "nccl-2.18", own + "/filled", "3.1 us", "t"}});
  std::vector<std::string> logs;
  for (const int gpus : {2, 4, 8})
    logs.push_back(folder.write(fmt::format("g{}.log", gpus),
                                nccl_log("dgx-a100", "nccl-2.18", gpus, machine, 1 << 16)));
  const Calibration c = calibrate(logs, {.platform = "dgx-a100", .library = "nccl-2.18"});
  CHECK_THAT(learnt(c, own + "/base"), WithinRel(16.2e-6, 0.01));
  CHECK_THAT(learnt(c, own + "/nvlink_hop"), WithinRel(1.96e-6, 0.01));
  CHECK_THAT(learnt(c, own + "/filled"), WithinRel(3.1e-6, 0.01));
  CHECK(c.profile.parameters.front().residuals->maximum < 0.01);
  CHECK(refused(c, "/protocols/0/ring_base")); // of older GPUs, and of what is between nodes
  for (const auto& r : c.profile.refused)
    if (r.parameter.find("/protocols/0/ring_base") != std::string::npos)
      CHECK_THAT(r.measurement, Contains("between nodes"));
  CHECK(find(c, "/protocols/0/tree_hop/network") == nullptr);
}

TEST_CASE("an adapter that is slow between nodes stays the cause, whatever the noise",
          "[calibrate][long]")
{
  const LogFolder folder;
  const auto machine = truth({{"nic", "connectx7-ndr", "/rate", "250 Gb/s", "t"}});
  std::mt19937 noise(5);
  for (int run = 0; run < 3; ++run) {
    CAPTURE(run);
    const std::string log = folder.write(
        "n.log", nccl_log("hgx-h100", "nccl-2.18", 8, machine, 4.0 * (1 << 30), 2, &noise));
    const Calibration c = calibrate({log}, {.platform = "hgx-h100", .library = "nccl-2.18"});
    CHECK_THAT(learnt(c, "/rate"), WithinRel(250e9 / 8, 0.03));
    CHECK(find(c, "/nvlink_collective_efficiency") == nullptr);
    CHECK(find(c, "/nvlink_in_switch_efficiency") == nullptr);
    bool named = false; // what explains the times as well
    for (const auto& r : c.profile.refused)
      named |= r.reason.find("may as well be explained") != std::string::npos;
    CHECK(named);
  }
}

TEST_CASE("an adapter hardly slower than what limits it is the cause, or named beside it",
          "[calibrate]")
{
  // A root port of the C4140 passes as much both ways as an adapter of 81.6 Gb/s.
  const LogFolder folder;
  const auto of = [&](const char* rate) {
    const auto machine = truth({{"nic", "connectx5-edr", "/rate", rate, "t"}});
    const std::string log =
        folder.write("n.log", nccl_log("c4140-k-v100-sxm2", "nccl", 4, machine, 1 << 30, 2));
    return calibrate({log}, {.platform = "c4140-k-v100-sxm2", .library = "nccl"});
  };
  const auto refused = [](const Calibration& c, const char* parameter) {
    std::string reasons;
    for (const auto& r : c.profile.refused)
      if (r.parameter == parameter)
        reasons += r.reason;
    return reasons;
  };
  const Calibration slow = of("78 Gb/s");
  CHECK_THAT(learnt(slow, "/rate"), WithinRel(78e9 / 8, 0.01));
  CHECK_THAT(refused(slow, "cpu xeon-gold-6148 /root_port_duplex"),
             Contains("may as well be explained") && Contains("nic connectx5-edr /rate"));
  // 3 % less of a port are likelier than 21 % less of an adapter.
  const Calibration near = of("79 Gb/s");
  CHECK_THAT(learnt(near, "/root_port_duplex"), WithinRel(20.4e9 * 79 / 81.6, 0.02));
  CHECK_THAT(refused(near, "nic connectx5-edr /rate"),
             Contains("may as well be explained by 78.9") ||
                 Contains("may as well be explained by 79"));
}

TEST_CASE("a switch that adds too slowly is told from slow links by the shape of the times",
          "[calibrate][long]")
{
  const LogFolder folder;
  const auto machine = truth({{"gpu", "h100-sxm5-80gb", "/nvlink_in_switch_efficiency", 0.6, "t"}});
  const std::string log =
      folder.write("n.log", nccl_log("hgx-h100", "nccl-2.18", 8, machine, 1 << 30));
  const Calibration c = calibrate({log}, {.platform = "hgx-h100", .library = "nccl-2.18"});
  CHECK_THAT(learnt(c, "/nvlink_in_switch_efficiency"), WithinRel(0.6, 0.01));
  CHECK(find(c, "/nvlink_collective_efficiency") == nullptr);
}

TEST_CASE("what the command line says against a log is noted", "[calibrate][long]")
{
  const LogFolder folder;
  const std::string text = nccl_log("hgx-h100", "nccl-2.18", 8, truth({}), 1 << 14);
  const std::string log = folder.write("n.log", text);
  const auto notes = [](const std::string& path, CalibrateOptions options) {
    options.platform = "hgx-h100";
    options.library = "nccl-2.18";
    std::string all;
    for (const std::string& note : calibrate({path}, options).notes)
      all += note + "\n";
    return all;
  };
  CHECK_THAT(notes(log, {}),
             !Contains("believed") && !Contains("--program") && !Contains("is of a"));
  CHECK_THAT(notes(log, {.nodes = 2}),
             Contains("lists its ranks on 1 node, --nodes 2 is believed"));
  CHECK_THAT(notes(log, {.program = "all_gather_perf"}),
             Contains("is of all_reduce, --program is"));
  const auto of_gpu = [&](const char* name) {
    std::string named = text;
    for (std::size_t at = 0; (at = named.find("[0x1a] GPU", at)) != std::string::npos; ++at)
      named.replace(at + 7, 3, name);
    return notes(folder.write("g.log", named), {});
  };
  CHECK_THAT(of_gpu("NVIDIA H100 80GB HBM3"), !Contains("is of a")); // an alias of the same
  CHECK_THAT(of_gpu("NVIDIA H100 PCIe"), Contains("is of a 'NVIDIA H100 PCIe', 'hgx-h100' has"));
}

TEST_CASE("the profile alone gives the fitted times", "[calibrate][long]")
{
  const LogFolder folder;
  const auto machine =
      truth({{"gpu", "v100-sxm2-16gb", "/nvlink_collective_efficiency", 0.6, "t"}});
  const std::string log = folder.write("nccl.log", nccl_log("dgx1-v100", "nccl-2.4", 8, machine));
  Calibration c = calibrate({log}, {.platform = "dgx1-v100", .library = "nccl-2.4"});
  Profiles profiles;
  profiles.add(folder.write("p.json", calibration::to_json(c.profile).dump()));
  const auto times = [](const std::shared_ptr<Overlay>& overlay) {
    return calibration::read_nccl_tests(nccl_log("dgx1-v100", "nccl-2.4", 8, overlay), "log").rows;
  };
  const auto fitted = times(profiles.overlay);
  const auto measured = times(machine);
  const auto unaware = times(truth({}));
  REQUIRE(fitted.size() == measured.size());
  for (std::size_t i = 0; i < fitted.size(); ++i)
    CHECK_THAT(fitted[i].out_of_place.time.value(),
               WithinRel(measured[i].out_of_place.time.value(), 0.01));
  CHECK(unaware.back().out_of_place.time.value() < 0.8 * measured.back().out_of_place.time.value());
  // Fitted again on top of itself, nothing changes but the last digits.
  const Calibration again = calibrate(
      {log}, {.platform = "dgx1-v100",
              .library = "nccl-2.4",
              .profiles = {folder.write("q.json", calibration::to_json(c.profile).dump())}});
  CHECK_THAT(learnt(again, "/nvlink_collective_efficiency"),
             WithinRel(learnt(c, "/nvlink_collective_efficiency"), 2e-3));
}

TEST_CASE("iperf3 teaches core time, split by segment size where there are two", "[calibrate]")
{
  const LogFolder folder;
  // One connection, one busy core: 2 us per packet and 0.5 ns per byte copied, 3 us per 64 KiB.
  const auto log = [&](const char* name, int segment) {
    const double per_byte = 2e-6 / segment + 0.5e-9 + 3e-6 / 65536;
    return folder.write(name, iperf3_log(0.95 / per_byte, 0.6, 0.95, segment));
  };
  const std::string large = log("large.json", 1448);
  const std::string small = log("small.json", 536);
  const Calibration both = calibrate({large, small}, {.network = "tcp"});
  CHECK_THAT(learnt(both, "/cpu_per_packet"), WithinRel(2e-6, 0.01));
  CHECK_THAT(learnt(both, "/copy_rate"), WithinRel(2e9, 0.01));
  CHECK(refused(both, "/cpu_per_segment"));
  const Calibration one = calibrate({large}, {.network = "tcp"});
  CHECK(one.profile.parameters.size() == 1);
  CHECK(one.profile.refused.size() == 2);
  CHECK_THAT(one.profile.refused[0].measurement, Contains("-M 536"));
  for (const auto& r : both.profile.refused)
    CHECK_THAT(r.measurement, !Contains("-M 536")); // which it has
}

TEST_CASE("iperf3 teaches a tunnel what it takes where the adapter looks inside", "[calibrate]")
{
  const LogFolder folder;
  const std::string log = folder.write("t.json", iperf3_log(6e8, 0.6, 0.96, 1398));
  CalibrateOptions options{.platform = "generic-4gpu", .network = "flannel-vxlan"};
  const Calibration c = calibrate({log}, options);
  // Sockets and routes of the host's network, and this tunnel's work on a segment of 64 KiB: all of
  // the core time that the processes report.
  const platforms::Transport below = platforms::load_transport(
      resolve_preset(std::string("host-network"), platforms::kTransportKind));
  const double host = below.cpu_per_segment.value() / 65536 + below.cpu_per_packet.value() / 1398 +
                      below.copies / below.copy_rate.value();
  CHECK_THAT(learnt(c, "/cpu_per_segment"), WithinRel(65536 * (0.96 / 6e8 - host), 1e-4));
  CHECK(refused(c, "/cpu_per_packet"));
}

TEST_CASE("the thread that all packets pass is learnt from a rate that nothing else limits",
          "[calibrate]")
{
  const LogFolder folder;
  const auto packet = [&](double rate) {
    const std::string log = folder.write("d.json", iperf3_log(rate, 0.3, 0.5, 1472 - 52));
    const CalibrateOptions options{.platform = "generic-4gpu", .network = "flannel-udp"};
    const Calibration c = calibrate({log}, options);
    CHECK(c.profile.refused.empty());
    return learnt(c, "/cpu_per_packet");
  };
  // Beside two copies of each byte: as much time as the packet itself takes.
  const double copies = packet(1.5e8) - packet(3e8);
  CHECK_THAT(copies, WithinRel(1420 * (1 / 1.5e8 - 1 / 3e8), 0.35));
  CHECK(packet(1.5e8) < 1420 / 1.5e8);
  CHECK(packet(3e8) < packet(1.5e8));
}

TEST_CASE("a run too short to tell anything is refused", "[calibrate]")
{
  LogFolder folder;
  std::string text = iperf3_log(1e9, 0.95, 0.9, 1448);
  const std::string whole = folder.write("whole.json", text);
  const std::string two_seconds = "\"seconds\": 2.0, \"bytes\": 2000000000";
  for (std::size_t at; (at = text.find(two_seconds)) != text.npos;)
    text.replace(at, two_seconds.size(), "\"seconds\": 0.001, \"bytes\": 1000000");
  const std::string brief = folder.write("brief.json", text);
  const auto learnt = calibrate({brief}, {.network = "tcp"});
  CHECK(learnt.profile.parameters.empty());
  REQUIRE(learnt.profile.refused.size() == 1);
  CHECK_THAT(learnt.profile.refused.front().reason, Catch::Matchers::Contains("lasted 1 ms"));

  const auto both = calibrate({brief, whole}, {.network = "tcp"});
  CHECK(both.profile.parameters.size() == 1);
  CHECK_THAT(calibration_text(both), Catch::Matchers::Contains("none is left to check the fit") &&
                                         !Catch::Matchers::Contains("followed within"));
}

TEST_CASE("iperf3 on an idle core teaches the adapter, if the rate is near its own", "[calibrate]")
{
  const LogFolder folder;
  const std::string full = folder.write("full.json", iperf3_log(115e6, 0.1, 0.2, 1448));
  const std::string half = folder.write("half.json", iperf3_log(50e6, 0.05, 0.08, 1448));
  const std::string fast = folder.write("fast.json", iperf3_log(900e6, 0.3, 0.3, 1448));
  const CalibrateOptions options{.platform = "nthu-gtx1080", .network = "tcp"};
  // 1448 bytes of payload travel in 1538 bytes on the wire.
  CHECK_THAT(learnt(calibrate({full}, options), "/rate"), WithinRel(115e6 * 1538 / 1448, 1e-3));
  CHECK(refused(calibrate({half}, options), "rate"));
  // Held to what was asked for, of each of two streams: the adapter may do more.
  const std::string held = folder.write("held.json", iperf3_log(115e6, 0.1, 0.2, 1448, 2, 58e6));
  CHECK(refused(calibrate({held}, options), "nic rate"));
  const std::string below = folder.write("below.json", iperf3_log(115e6, 0.1, 0.2, 1448, 2, 1e9));
  CHECK_THAT(learnt(calibrate({below}, options), "/rate"), WithinRel(115e6 * 1538 / 1448, 1e-3));
  CHECK_THAT(error_of({fast}, options), Contains("fast.json") && Contains("at most"));
  // Eight streams of 3.16 have a thread each: 180 % of a core are none that is busy.
  const std::string many = folder.write("many.json", iperf3_log(115e6, 1.5, 1.8, 1448, 8));
  CHECK_THAT(learnt(calibrate({many}, options), "/rate"), WithinRel(115e6 * 1538 / 1448, 1e-3));
  const std::string few = folder.write("few.json", iperf3_log(60e6, 1.5, 1.8, 1448, 8));
  CHECK(refused(calibrate({few}, options), "nic rate"));
  const std::string full_cores = folder.write("cores.json", iperf3_log(60e6, 1.5, 1.9, 1448, 2));
  CHECK_FALSE(refused(calibrate({full_cores}, options), "nic rate"));
  CHECK_THAT(error_of({full}, {.platform = "c4140-v100-sxm2"}), Contains("--network"));
}

TEST_CASE("fio teaches what its pattern measures", "[calibrate]")
{
  const LogFolder folder;
  const std::string stream =
      folder.write("a.json", fio_log({"read", "1M", 8, 3000, 1048576, 2e-3}));
  const std::string random =
      folder.write("b.json", fio_log({"randread", "4k", 128, 5e5, 4096, 2.5e-4}));
  const std::string single =
      folder.write("c.json", fio_log({"randread", "4k", 1, 9e3, 4096, 1.1e-4}));
  const std::string write =
      folder.write("d.json", fio_log({"write", "1M", 8, 1000, 1048576, 2e-3}));
  const Calibration c = calibrate({stream, random, single, write}, {.disk = "nvme-1.6tb"});
  CHECK_THAT(learnt(c, "/read"), WithinRel(3000 * 1048576.0, 1e-4));
  CHECK_THAT(learnt(c, "/write"), WithinRel(1000 * 1048576.0, 1e-4));
  CHECK_THAT(learnt(c, "/read_operations"), WithinRel(5e5, 1e-4));
  CHECK_THAT(learnt(c, "/latency"), WithinRel(1.1e-4, 1e-4));
  const Calibration one = calibrate({stream}, {.disk = "nvme-1.6tb"});
  CHECK(one.profile.parameters.size() == 1);
  CHECK(refused(one, "/latency"));
}

TEST_CASE("fio on a platform's striped disks is of all of them, unless one is named", "[calibrate]")
{
  const LogFolder folder;
  const std::string read = folder.write("r.json", fio_log({"read", "1M", 8, 1900, 1048576, 2e-3}));
  const std::string write =
      folder.write("w.json", fio_log({"write", "1M", 8, 1200, 1048576, 2e-3}));
  const std::string random =
      folder.write("o.json", fio_log({"randread", "4k", 256, 3e5, 4096, 1e-3}));
  const Calibration array = calibrate({read, write, random}, {.platform = "dgx1-v100"});
  CHECK_THAT(learnt(array, "/read"), WithinRel(1900 * 1048576.0 / 4, 1e-4)); // four in RAID 0
  CHECK_THAT(learnt(array, "/write"), WithinRel(1200 * 1048576.0 / 4, 1e-4));
  CHECK_THAT(learnt(array, "/read_operations"), WithinRel(3e5 / 4, 1e-4));
  REQUIRE(!array.notes.empty());
  CHECK_THAT(array.notes.front(), Contains("4 disks") && Contains("--disk ssd-sata-1.92tb"));
  const std::string one = folder.write("1.json", fio_log({"read", "1M", 8, 480, 1048576, 1.6e-2}));
  const Calibration single = calibrate({one}, {.platform = "dgx1-v100", .disk = "ssd-sata-1.92tb"});
  CHECK_THAT(learnt(single, "/read"), WithinRel(480 * 1048576.0, 1e-4));
  CHECK(single.notes.empty());
}

TEST_CASE("fio teaches no limit that its queue does not reach", "[calibrate]")
{
  const LogFolder folder;
  const auto left_out = [&](const FioRun& run, const char* why) {
    const Calibration c = calibrate({folder.write("l.json", fio_log(run))}, {.disk = "nvme-1.6tb"});
    CHECK(c.profile.parameters.empty());
    REQUIRE(!c.notes.empty());
    CHECK_THAT(c.notes.front(), Contains(why));
  };
  // Four in flight that take as long as one alone (90 us): the disk waits for requests.
  left_out({"randread", "4k", 4, 4e4, 4096, 1e-4}, "4 reads in flight take 100 us each");
  // One alone is measured, too, and takes as long: two thirds more than described are no queue.
  const std::string single =
      folder.write("c.json", fio_log({"randread", "4k", 1, 6666, 4096, 1.5e-4}));
  const std::string few = folder.write("b.json", fio_log({"randread", "4k", 2, 1e4, 4096, 2e-4}));
  const Calibration both = calibrate({single, few}, {.disk = "nvme-1.6tb"});
  CHECK(both.profile.parameters.size() == 1);
  CHECK_THAT(learnt(both, "/latency"), WithinRel(1.5e-4, 1e-4));
  // An engine that waits for each has one in flight at any depth.
  const Calibration waits =
      calibrate({folder.write("s.json", fio_log({"randread", "4k", 64, 1e4, 4096, 1e-4}))},
                {.disk = "nvme-1.6tb"});
  CHECK_THAT(learnt(waits, "/latency"), WithinRel(1e-4, 1e-4));
  // 1 MiB in 700 us, 90 of them before the first byte.
  const Calibration stream =
      calibrate({folder.write("r.json", fio_log({"read", "1M", 1, 1 / 7e-4, 1048576, 7e-4}))},
                {.disk = "nvme-1.6tb"});
  CHECK(stream.profile.parameters.size() == 1);
  CHECK_THAT(learnt(stream, "/read"), WithinRel(1048576 / 6.1e-4, 1e-3));
  std::string cached = fio_log({"read", "1M", 8, 25000, 1048576, 3e-4});
  const std::string direct = ", \"direct\": \"1\"";
  for (const char* instead : {", \"direct\": \"0\"", ""}) { // fio's default
    std::string through = cached;
    through.replace(through.find(direct), direct.size(), instead);
    const Calibration cache = calibrate({folder.write("p.json", through)}, {.disk = "nvme-1.6tb"});
    CHECK(cache.profile.parameters.empty());
    CHECK_THAT(cache.notes.at(0), Contains("the page cache answers"));
  }
  for (const char* held : {"rate", "rate_iops", "thinktime"}) {
    std::string slowed = cached;
    slowed.replace(slowed.find(direct), direct.size(),
                   direct + fmt::format(", \"{}\": \"100m\"", held));
    const Calibration none = calibrate({folder.write("h.json", slowed)}, {.disk = "nvme-1.6tb"});
    CHECK(none.profile.parameters.empty());
    CHECK_THAT(none.notes.at(0), Contains("held to a rate that was asked for"));
  }
}

TEST_CASE("logs that do not belong are refused with a reason", "[calibrate]")
{
  const LogFolder folder;
  const auto machine = truth({});
  const std::string p2p = folder.write("p2p.log", p2p_log("c4140-k-v100-sxm2", machine));
  const std::string nccl = folder.write("nccl.log", nccl_log("dgx1-v100", "nccl", 8, machine, 1e6));
  CHECK_THAT(error_of({p2p}, {}), Contains("needs --platform"));
  CHECK_THAT(error_of({p2p}, {.platform = "dgx1-v100"}),
             Contains("p2p.log:6") && Contains("4 GPUs"));
  CHECK_THAT(error_of({nccl}, {.platform = "c4140-k-v100-sxm2"}), Contains("8 GPUs per node"));
  CHECK_THAT(error_of({nccl}, {.platform = "dgx1-v100", .gpus = 4}), Contains("8 ranks"));
  CHECK_THAT(
      error_of({nccl, folder.write("copy.log", nccl_log("dgx1-v100", "nccl", 8, machine, 1e6))},
               {.platform = "dgx1-v100"}),
      Contains("counts once"));
  CHECK_THAT(error_of({folder.write("x.txt", "hello")}, {}), Contains("known: topology"));
  CHECK_THAT(error_of({folder.write("gb.log",
                                    [&] {
                                      std::string text =
                                          nccl_log("dgx1-v100", "nccl", 8, machine, 1e6);
                                      return text.replace(text.find("(GB/s)"), 6, "(Gb/s)");
                                    }())},
                      {.platform = "dgx1-v100"}),
             Contains("gb.log:"));
}

TEST_CASE("damaged logs are refused or fitted, never anything else", "[calibrate][fuzz]")
{
  const LogFolder folder;
  const auto machine = truth({});
  struct Sample {
    std::string text;
    CalibrateOptions options;
  };
  const Sample samples[] = {
      {p2p_log("c4140-k-v100-sxm2", machine), {.platform = "c4140-k-v100-sxm2"}},
      {nccl_log("c4140-k-v100-sxm2", "nccl", 4, machine, 1 << 24),
       {.platform = "c4140-k-v100-sxm2"}},
      {iperf3_log(1e9, 0.5, 0.95, 1448), {.network = "tcp"}},
      {fio_log({"read", "1M", 8, 3000, 1048576, 2e-3}), {.disk = "nvme-1.6tb"}},
  };
  std::mt19937 random(7);
  int fitted = 0;
  int refusals = 0;
  for (const Sample& sample : samples)
    for (int i = 0; i < 10; ++i) {
      const std::string path = folder.write("log", damaged(sample.text, random));
      try {
        const Calibration c = calibrate({path}, sample.options);
        for (const auto& p : c.profile.parameters)
          CHECK((std::isfinite(si(p.value)) && si(p.value) > 0 && std::isfinite(si(p.spread))));
        ++fitted;
      } catch (const ConfigError& error) {
        ++refusals;
        CHECK_THAT(error.what(), Contains("log"));
      } catch (const UsageError&) {
        ++refusals;
      }
    }
  CAPTURE(fitted, refusals);
  CHECK(fitted > 2);
  CHECK(refusals > 8);
}

} // namespace foretrain::calibrate_test
