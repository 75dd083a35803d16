// Each of ten resources in turn is made scarce: the answer names it.
#include "tests/experiments/point.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::scarce_test {

using namespace foretrain::test;

namespace {

// Two nodes with 2 GPUs each behind a PCIe switch, fed from a file server by TCP; nothing is scarce
// except the GPUs.
const char* const kBalanced = R"({
  "cluster": {
    "nodes": 2,
    "platform": {
      "name": "test", "max_nodes": 4,
      "node": {
        "name": "node", "sockets": 1, "memory": "400 GB",
        "cpu": { "name": "cpu", "cores": 64, "clock": "3 GHz", "memory_bandwidth": "400 GB/s",
                 "root_port_duplex": "40 GB/s" },
        "pcie_switches": [ { "name": "plx0", "on": "socket0" } ],
        "gpus": { "type": "v100-pcie-16gb", "on": [ "plx0", "plx0" ] },
        "nics": [ { "name": "eth0", "on": "socket0",
                    "type": { "name": "nic", "rate": "100 Gb/s" } } ],
        "disks": [ { "name": "disk0", "type": { "name": "disk", "read": "6 GB/s", "write": "3 GB/s" } } ]
      },
      "networks": [ { "nics": [ "eth0" ], "fabric": { "name": "switch", "port_rate": "100 Gb/s" } } ]
    },
    "storage": {
      "name": "server", "request": "1 MiB", "connections": 8,
      "servers": { "disk": "nvme-1.6tb", "disks": 4, "link": "100 Gb/s", "cpu": "xeon-gold-6148",
                   "sockets": 2, "cpu_per_operation": "20 us" }
    }
  },
  "stack": { "network": { "extends": "tcp", "connections": 16 } },
  "jobs": [ {
    "name": "train", "model": "resnet50", "batch_per_gpu": 64, "gpus": 4, "framework": {
      "extends": "pytorch-horovod", "input": { "threads_per_gpu": 16, "read_streams": 16 } },
    "input": "tfrecord"
  } ]
})";

struct Case {
  const char* what;
  std::vector<std::pair<std::string, std::string>> settings;
  const char* resource; // part of its name
};

const std::string kNode = "/cluster/platform/node";
const std::string kServers = "/cluster/storage/servers";

const std::vector<Case> kCases = {
    {"GPU", {}, "gpu0/compute"},
    {"adapter",
     {{kNode + "/nics/0/type/rate", "\"1 Gb/s\""}, {"/jobs/0/input", "synthetic"}},
     "eth0"},
    {"PCIe uplink",
     {{kNode + "/pcie_switches/0/lanes", "1"}, {kNode + "/pcie_switches/0/generation", "1"}},
     "plx0"},
    {"server disks",
     {{kServers + "/disk", "hdd-sata"}, {kServers + "/disks", "1"}},
     "storage/disks"},
    {"server link", {{kServers + "/link", "\"500 Mb/s\""}}, "storage/server-link"},
    {"server cores",
     {{kServers + "/cpu_per_operation", "\"20 ms\""},
      {kServers + "/cpu", R"({"extends": "xeon-gold-6148", "cores": 1})"},
      {kServers + "/sockets", "1"}},
     "storage/server-cores"},
    {"gateway", {{"/cluster/storage/gateway", "\"500 Mb/s\""}}, "storage/gateway"},
    {"decoding threads", {{"/jobs/0/framework/input/threads_per_gpu", "0.2"}}, "decoding threads"},
    {"host cores", {{kNode + "/cpu/cores", "1"}}, "/cores"},
    {"connections to storage",
     {{"/cluster/storage/connections", "1"},
      {"/cluster/storage/transports", R"([{"extends": "tcp", "cpu_per_packet": "50 us"}])"}},
     "storage-connection"},
    {"parallel reads",
     {{"/cluster/storage/latency", "\"500 ms\""}, {"/jobs/0/framework/input/read_streams", "1"}},
     "parallel reads"},
    {"local disk",
     {{"/cluster/storage", R"({"name": "local"})"}, {kNode + "/disks/0/type/read", "\"20 MB/s\""}},
     "disk0"},
    {"summation",
     {{"/jobs/0/framework", R"({"extends": "byteps", "servers": {"sum_rate": "50 MB/s"}})"},
      {"/jobs/0/input", "synthetic"}},
     "summation threads"},
    {"memory", {{kNode + "/cpu/memory_bandwidth", "\"0.5 GB/s\""}}, "dram"},
};

// Every so manieth case, for the time that one test may take: the first, which is balanced, is
// always among them.
void check_scarce(std::size_t every, std::size_t beginning)
{
  double balanced = 0;
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    const Case& scarce = kCases[i];
    if (i > 0 && i % every != beginning)
      continue;
    INFO(scarce.what);
    const auto job = run_text(kBalanced, scarce.settings).jobs.at(0);
    if (scarce.settings.empty())
      balanced = job.throughput.median;
    else
      CHECK(job.throughput.median < 0.7 * balanced);
    CHECK_THAT(job.bottleneck.resource, Catch::Matchers::Contains(scarce.resource));
    CHECK(job.bottleneck.utilisation > 0.4);
    CHECK_FALSE(job.bottleneck.why.empty());
  }
}

} // namespace

TEST_CASE("Some of what is made scarce is named as the bottleneck, 1", "[scarce][long]")
{
  check_scarce(4, 0);
}
TEST_CASE("Some of what is made scarce is named as the bottleneck, 2", "[many]")
{
  check_scarce(4, 1);
}
TEST_CASE("Some of what is made scarce is named as the bottleneck, 3", "[many]")
{
  check_scarce(4, 2);
}
TEST_CASE("Some of what is made scarce is named as the bottleneck, 4", "[many]")
{
  check_scarce(4, 3);
}

TEST_CASE("Input that never rests is named though the GPUs compute most of the time", "[long]")
{
  // Threads that decode at 90 % of what the GPUs could take.
  const auto busy =
      run_text(kBalanced, {{"/jobs/0/framework/input/threads_per_gpu", "0.7"}}).jobs.at(0);
  REQUIRE(busy.time.compute > 0.5 * busy.time.total());
  CHECK(busy.bottleneck.resource == "decoding threads");
  const auto faster =
      run_text(kBalanced, {{"/jobs/0/framework/input/threads_per_gpu", "0.77"}}).jobs.at(0);
  CHECK(faster.throughput.median > 1.05 * busy.throughput.median);
}

TEST_CASE("Processes that count all cores as their own hold up what launches kernels",
          "[scarce][long]")
{
  const auto with = [](const std::string& own) {
    const std::string framework = R"({"extends": "tensorflow-horovod", "input": {
        "cores_kept_per_gpu": 1, "read_streams": 16, "process_per_gpu": )" +
                                  own + "}}";
    return run_text(kBalanced, {{"/jobs/0/framework", framework}, {kNode + "/cpu/cores", "4"}})
        .jobs.at(0);
  };
  CHECK(with("true").throughput.median < 0.95 * with("false").throughput.median);
}

} // namespace foretrain::scarce_test
