// What each lever makes better, by how much, and what it leaves: every rate and time of a machine.
#include "experiments/spec/levers.hpp"

#include "experiments/run/limits/pulled.hpp"
#include "experiments/spec/resolve.hpp"
#include "tests/support/catch.hpp"

#include <map>
#include <set>

namespace foretrain::levers_test {

using namespace foretrain::experiments;

namespace {

constexpr const char* kJob = R"({
  "cluster": {"nodes": 3, "platform": "c4140-k-v100-sxm2",
    "storage": {"name": "server", "request": "1 MiB", "connections": 2, "open_cpu": "5 us",
      "servers": {"cpu": "xeon-gold-6148", "link": "80 Gb/s", "write_rate": "1 GB/s", "rate": "2 GB/s", "operations": "1 kIOPS", "cpu_per_operation": "3 us",
      "cpu_per_metadata": "4 us"}, "gateway": "90 Gb/s", "latency": "9 us"}},
  "stack": {"network": "calico-vxlan", "host": "container"},
  "jobs": [{"name": "train", "model": "transformer-big", "batch_per_gpu": 64, "gpus": 8,
    "framework": "byteps", "cores": 10, "memory": "50 GB", "input": "tfrecord"},
   {"name": "host", "model": "resnet50", "batch_per_gpu": 64, "gpus": 4,
    "framework": {"extends": "pytorch-ddp", "library": {"extends": "gloo",
      "host": {"half_sum_rate": "1 GB/s"}}, "coordination": "1 ms",
      "coordination_per_rank": "1 us"}}]})";

Point point()
{
  Point made;
  made.document = parse_document(kJob, "test");
  return made;
}

using Numbers = std::map<std::string, double>;

void note(Numbers& all, const std::string& name, const platforms::Stack& stack)
{
  const platforms::Transport& t = stack.transport;
  all[name + "/latency"] = t.latency.value();
  all[name + "/segment work"] = t.cpu_per_segment.value();
  all[name + "/packet work"] = t.cpu_per_packet.value();
  all[name + "/copy rate"] = t.copy_rate.value();
  all[name + "/connections"] = t.parallel();
  all[name + "/layer segment work"] = t.layers.at(0).cpu_per_segment.value();
  all[name + "/layer packet work"] = t.layers.at(0).cpu_per_packet.value();
  all[name + "/host latency"] = stack.host.network_latency.value();
  all[name + "/host packet work"] = stack.host.cpu_per_packet.value();
}

void note(Numbers& all, const std::string& name, const platforms::Disk& disk)
{
  all[name + "/read"] = disk.read.value();
  all[name + "/write"] = disk.write.value();
  all[name + "/operations"] = disk.read_operations.value();
  all[name + "/latency"] = disk.latency.value();
}

Numbers numbers_of(const ResolvedExperiment& e)
{
  Numbers all;
  const platforms::Gpu& gpu = e.platform.gpu;
  all["gpu/memory"] = gpu.memory_bandwidth.value();
  all["gpu/nvlink"] = gpu.nvlink_brick.value();
  all["gpu/copy latency"] = gpu.copy_latency.value();
  all["gpu/peer latency"] = gpu.peer_latency.value();
  all["gpu/host hop latency"] = gpu.host_hop_latency.value();
  all["gpu/variation"] = gpu.speed_variation;
  all["pcie"] = e.pcie_scale;
  all["nic/rate"] = e.platform.nics.at(0).rate.value();
  all["nic/latency"] = e.platform.nics.at(0).latency.value();
  all["fabric/rate"] = e.platform.fabrics.at(0).port_rate.value();
  all["fabric/latency"] = e.platform.fabrics.at(0).switch_latency.value();
  all["cpu/cores"] = e.platform.cpu.cores;
  all["cpu/clock"] = e.platform.cpu.clock.value();
  all["cpu/copy rate"] = e.platform.cpu.copy_rate.value();
  all["cpu/memory"] = e.platform.cpu.memory_bandwidth.value();
  all["node/memory"] = e.platform.node.memory.value();
  note(all, "disk", e.platform.disks.at(0));
  note(all, "stack", e.stack);
  const platforms::Storage& storage = *e.storage;
  note(all, "server disk", storage.disk_type);
  all["storage/open work"] = storage.open_cpu.value();
  all["storage/latency"] = storage.latency.value();
  all["storage/connections"] = storage.connections;
  all["storage/gateway"] = storage.gateway.value();
  all["servers/rate"] = storage.servers->rate.value();
  all["servers/write rate"] = storage.servers->write_rate.value();
  all["servers/operations"] = storage.servers->operations.value();
  all["servers/link"] = storage.servers->link.value();
  all["servers/operation work"] = storage.servers->cpu_per_operation.value();
  all["servers/metadata work"] = storage.servers->cpu_per_metadata.value();
  all["servers/cores"] = storage.server_cpu->cores;
  const ResolvedJob& job = e.jobs.at(0);
  note(all, "job", job.stack);
  all["job/cores"] = *job.spec.cores;
  all["job/memory"] = job.spec.memory->value();
  all["job/threads"] = *job.input.settings.threads_per_gpu;
  all["job/kernels"] = job.profile.total().value();
  all["job/launches"] = job.profile.host().value();
  all["job/step overhead"] = job.framework.step_overhead.value();
  all["job/step variation"] = job.framework.step_variation;
  all["job/work variation"] = job.network.work_variation;
  all["job/sums"] = job.framework.servers->sum_rate.value();
  all["job/message"] = job.framework.servers->message.value();
  all["job/verbs"] = job.framework.servers->verbs_rate.value();
  all["job/file time"] = job.input.settings.file_time.value();
  const models::Protocol& protocol = job.library.protocols.at(0);
  all["library/ring base"] = protocol.ring_base.value();
  all["library/tree base"] = protocol.tree_base.value();
  all["library/ring hop nvlink"] = protocol.ring_hop.nvlink.value();
  all["library/ring hop pcie"] = protocol.ring_hop.pcie.value();
  all["library/ring hop network"] = protocol.ring_hop.network.value();
  all["library/tree hop network"] = protocol.tree_hop.network.value();
  all["library/launch"] = job.library.host_launch.value();
  const ResolvedJob& other = e.jobs.at(1);
  all["other/coordination"] = other.framework.coordination.value();
  all["other/coordination of a rank"] = other.framework.coordination_per_rank.value();
  all["other/sums"] = other.library.host->sum_rate.value();
  all["other/half sums"] = other.library.host->half_sum_rate.value();
  return all;
}

struct Effect {
  const char* lever;
  std::set<std::string> doubled, halved;
};

const Effect kEffects[] = {
    {"gpu", {"gpu/memory"}, {"job/kernels"}},
    {"nvlink", {"gpu/nvlink"}, {}},
    {"pcie", {"pcie"}, {}},
    {"disk",
     {"disk/read", "disk/write", "disk/operations", "server disk/read", "server disk/write",
      "server disk/operations", "servers/rate", "servers/write rate", "servers/operations"},
     {"disk/latency", "server disk/latency"}},
    {"storage-network", {"servers/link", "storage/gateway"}, {}},
    {"storage-cpu", {"servers/cores"}, {}},
    {"mount", {"storage/connections"}, {"storage/latency"}},
    {"memory", {"cpu/memory"}, {}},
    {"cores", {"cpu/cores", "job/cores"}, {}},
    {"core-speed",
     {"cpu/clock", "cpu/copy rate", "stack/copy rate", "job/copy rate", "job/sums", "other/sums",
      "other/half sums"},
     {"stack/segment work", "stack/packet work", "stack/layer segment work",
      "stack/layer packet work", "stack/host packet work", "job/segment work", "job/packet work",
      "job/layer segment work", "job/layer packet work", "job/host packet work",
      "storage/open work", "job/launches"}},
    {"threads", {"job/threads"}, {}},
    {"files", {}, {"job/file time"}},
    {"page-cache", {"node/memory", "job/memory"}, {}},
    {"fabric", {"fabric/rate"}, {}},
    {"nic", {"nic/rate"}, {}},
    {"connections", {"stack/connections", "job/connections", "job/verbs"}, {}},
    {"latency",
     {},
     {"gpu/copy latency", "gpu/peer latency", "gpu/host hop latency", "nic/latency",
      "fabric/latency", "stack/latency", "stack/host latency", "job/latency", "job/host latency",
      "library/ring base", "library/tree base", "library/ring hop nvlink", "library/ring hop pcie",
      "library/ring hop network", "library/tree hop network"}},
    {"framework",
     {},
     {"job/launches", "job/step overhead", "job/message", "library/launch", "other/coordination",
      "other/coordination of a rank"}},
    {"variation", {}, {"gpu/variation", "job/step variation", "job/work variation"}},
};

} // namespace

TEST_CASE("a lever doubles the rates and halves the times that it is about, and no others",
          "[levers][closed-form]")
{
  ResolvedExperiment as_is = resolve(point());
  as_is.storage->disk_type = as_is.platform.disks.at(0); // servers have disks or a rate
  const Numbers before = numbers_of(as_is);
  REQUIRE(std::size(kEffects) == levers().size());
  for (const Effect& effect : kEffects) {
    ResolvedExperiment changed = as_is;
    lever_named(effect.lever)->apply(changed, 2);
    for (const auto& [name, value] : numbers_of(changed)) {
      CAPTURE(effect.lever, name);
      const double factor = effect.doubled.contains(name)  ? 2
                            : effect.halved.contains(name) ? 0.5
                                                           : 1;
      CHECK(value == Approx(factor * before.at(name)).epsilon(1e-12));
    }
  }
}

TEST_CASE("twice the processors of file servers that wait for nothing else serve twice as much",
          "[levers][closed-form]")
{
  Point made;
  made.document = parse_document(R"({
    "cluster": {"nodes": 2, "platform": "c4140-k-v100-sxm2", "storage": {"extends": "nfs-ssd",
      "servers": {"cpu": {"extends": "xeon-gold-6148", "cores": 1}, "sockets": 1,
                  "cpu_per_operation": "20 ms"}}},
    "jobs": [{"model": "alexnet", "batch_per_gpu": 128, "gpus": 8, "input": "tfrecord",
              "framework": "pytorch-ddp"}]})",
                                 "test");
  const ResolvedExperiment as_is = resolve(made);
  const double gain = throughputs_with(as_is, {lever_named("storage-cpu")}, 2, {}).front() /
                      throughputs_with(as_is, {}, 1, {}).front();
  CHECK(gain == Approx(2).epsilon(0.02));
}

} // namespace foretrain::levers_test
