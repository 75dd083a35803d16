// Jobs are told what runs over an adapter of nodes that have far faster ones, or over one that does
// not fit its switch, and which adapters nothing uses.
#include "experiments/spec/resolve.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

namespace foretrain::slow_adapter_test {

using namespace foretrain::experiments;
using Catch::Contains;

namespace {

// Warnings of an experiment's jobs that hold a phrase.
std::string warnings_with(const std::string& phrase, const std::string& experiment)
{
  std::string found;
  for (const ResolvedJob& job : resolve({{}, parse_document(experiment, "test"), nullptr}).jobs)
    for (const std::string& warning : job.warnings)
      if (warning.find(phrase) != std::string::npos)
        found += warning + "\n";
  return found;
}

// What is said of adapters, of AlexNet on nodes with 1 GbE and EDR InfiniBand.
std::string told(const std::string& network, const std::string& storage, int gpus,
                 const std::string& input = R"({"format": "tfrecord", "dataset": "imagenet"})")
{
  const std::string text = fmt::format(R"({{
    "cluster": {{"platform": "c4140-k-v100-sxm2", "storage": {}}}, "stack": {{"network": "{}"}},
    "jobs": [{{"name": "a", "model": "alexnet", "framework": "tensorflow-horovod",
               "batch_per_gpu": 512, "gpus": {}, "input": {}}}]}})",
                                       storage, network, gpus, input);
  return warnings_with("the nodes also have", text);
}

constexpr const char* kServers =
    R"({"name": "s", "servers": {"link": "10 Gb/s", "rate": "1 GB/s"}})";

} // namespace

TEST_CASE("a network of slow adapters is told, between nodes", "[remarks]")
{
  CHECK(told("tcp", R"("nvme")", 8) ==
        "a: 'TCP on Ethernet' runs over eth0 (125 MB/s); the nodes also have ib0 (12.5 GB/s)\n");
  CHECK(told("rdma", R"("nvme")", 8) == "");
  CHECK(told("tcp", R"("nvme")", 4) == ""); // one node
}

TEST_CASE("a storage reached by slow adapters is told, where it is read", "[remarks]")
{
  CHECK(told("rdma", kServers, 4) == "a: reads 's' by 'TCP on Ethernet' (no \"transports\" told) "
                                     "over eth0 (125 MB/s); the nodes also have ib0 (12.5 GB/s)\n");
  const std::string named =
      R"({"name": "s", "transports": ["tcp"], "servers": {"link": "10 Gb/s", "rate": "1 GB/s"}})";
  CHECK_THAT(told("rdma", named, 4), Contains("reads 's' by 'TCP on Ethernet' over eth0"));
  const std::string quick =
      R"({"name": "s", "transports": ["ipoib"], "servers": {"link": "10 Gb/s", "rate": "1 GB/s"}})";
  CHECK(told("rdma", quick, 4) == "");
  CHECK(told("rdma", kServers, 4, R"("synthetic")") == "");
}

TEST_CASE("an adapter that does not fit its switch is told, between nodes", "[remarks]")
{
  const auto said = [](const std::string& adapter, const std::string& fabric, int gpus) {
    const std::string text = fmt::format(R"({{
      "cluster": {{"platform": {{"extends": "generic-4gpu", "node": {{"nics": [
        {{"name": "eth0", "on": "socket0", "type": {}}}]}},
        "networks": [{{"nics": ["eth0"], "fabric": {}}}]}}}}, "stack": {{"network": "rdma"}},
      "jobs": [{{"name": "a", "model": "alexnet", "framework": "pytorch-ddp", "batch_per_gpu": 512,
                 "gpus": {}}}]}})",
                                         adapter, fabric, gpus);
    return warnings_with("plugged", text);
  };
  const std::string ethernet = R"("connectx4-100gbe")", infiniband = R"("connectx5-edr")";
  CHECK(said(ethernet, R"("sb7800-edr")", 8) ==
        "a: eth0 (Mellanox ConnectX-4 EN 100 GbE) speaks Ethernet, and the fabric 'Mellanox SB7800 "
        "EDR switch' InfiniBand: one cannot be plugged into the other (\"link\" of both)\n");
  CHECK_THAT(said(infiniband, R"("ethernet-100g")", 8),
             Contains("speaks InfiniBand, and the fabric "
                      "'100 GbE switch' Ethernet"));
  CHECK(said(ethernet, R"("sb7800-edr")", 4) == ""); // one node
  CHECK(said(ethernet, R"("ethernet-100g")", 8) == "");
  CHECK(said(infiniband, R"("sb7800-edr")", 8) == "");
  CHECK(said(ethernet, R"({"name": "ours", "port_rate": "100 Gb/s"})", 8) == ""); // not told
}

TEST_CASE("slots that GPUs or CPUs do not know are told", "[remarks]")
{
  const auto said = [](const std::string& slots) {
    return warnings_with("no influence", R"({"cluster": {"platform": {
        "extends": "c4140-k-v100-sxm2", "node": {"gpus": )" +
                                             slots + R"(}}},
        "jobs": [{"name": "a", "model": "alexnet", "framework": "tensorflow-horovod",
        "batch_per_gpu": 512, "gpus": 1}]})");
  };
  CHECK(said(R"({"generation": 3, "lanes": 16})").empty());
  CHECK(said(R"({"generation": 2, "lanes": 8})").empty());
  CHECK_THAT(said(R"({"generation": 4})"),
             Contains("a: \"generation\": 4 of the node's GPUs has no influence") &&
                 Contains("uses 3"));
}

TEST_CASE("adapters of a second network are told to be idle", "[remarks]")
{
  const auto said = [](const std::string& networks, int gpus) {
    const std::string text = fmt::format(R"({{
      "cluster": {{"platform": {{"extends": "generic-4gpu", "node": {{"nics": [
        {{"name": "eth0", "on": "socket0", "type": "connectx4-100gbe"}},
        {{"name": "eth1", "on": "socket1", "type": "connectx4-100gbe"}},
        {{"name": "eth2", "on": "socket1", "type": "ethernet-10g"}}]}},
        "networks": {}}}}}, "stack": {{"network": "tcp"}},
      "jobs": [{{"name": "a", "model": "alexnet", "framework": "pytorch-ddp", "batch_per_gpu": 512,
                 "gpus": {}}}]}})",
                                         networks, gpus);
    return warnings_with("of another one", text);
  };
  const auto fabric = [](const std::string& nics) {
    return R"({"nics": [)" + nics + R"(], "fabric": "ethernet-100g"})";
  };
  const std::string two = "[" + fabric(R"("eth0")") + ", " + fabric(R"("eth1")") + "]";
  CHECK(said(two, 8) ==
        "a: 'TCP on Ethernet' takes the first of the nodes' \"networks\" that it can; eth1 is of "
        "another one, and idle (adapters that a job uses together are \"nics\" of one)\n");
  CHECK(said(two, 4) == ""); // one node
  CHECK(said("[" + fabric(R"("eth0", "eth1")") + "]", 8) == "");
  CHECK(said("[" + fabric(R"("eth0")") + ", " + fabric(R"("eth2")") + "]", 8) == ""); // slow
}

TEST_CASE("a guest's adapter without a guest is told, between nodes", "[remarks]")
{
  const auto said = [](const char* host, const char* network, int gpus) {
    return warnings_with("virtual adapter", fmt::format(R"({{
      "cluster": {{"platform": "c4140-k-v100-sxm2"}}, "stack": {{"host": "{}", "network": "{}"}},
      "jobs": [{{"name": "a", "model": "alexnet", "framework": "pytorch-ddp", "batch_per_gpu": 64,
                 "gpus": {}}}]}})",
                                                        host, network, gpus));
  };
  CHECK(said("container", "virtio", 8) ==
        "a: 'virtio network of a virtual machine' passes the virtual adapter of a guest, and "
        "'container' is no virtual machine (\"host\")\n");
  CHECK(said("container", "virtio", 4) == "");
  CHECK(said("vm", "virtio", 8) == "");
  CHECK(said("vm", "tcp", 8) == "");
  CHECK(said("container", "tcp", 8) == "");
}

} // namespace foretrain::slow_adapter_test
