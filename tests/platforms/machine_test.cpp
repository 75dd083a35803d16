// What bytes use on their way through a machine, by name and weight.
#include "platforms/machine.hpp"

#include "sim/base/error.hpp"
#include "tests/platforms/hop_support.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::machine_test {

using namespace foretrain::platforms;
using test::stack_of;
using test::weight_of;

namespace {

PlatformSpec patched(const std::string& name, const std::string& patch)
{
  auto document = std::make_shared<Document>(*resolve_preset(name, kPlatformKind).document());
  document->root.merge_patch(Json::parse(patch));
  return load_platform(Value(std::shared_ptr<const Document>(document)));
}

double capacity_of(const sim::Engine& engine, const std::string& resource)
{
  for (int r = 0; r < engine.resource_count(); ++r)
    if (engine.name({r}) == resource)
      return engine.capacity({r});
  return -1;
}

// Switches of four ports: two nodes and two uplinks each.
PlatformSpec small_switches(double oversubscription)
{
  return patched("generic-4gpu", R"({"networks": [{"nics": ["eth0"], "fabric": {
    "name": "small", "ports": 4, "port_rate": "100 Gb/s", "switch_latency": "1 us",
    "oversubscription": )" + std::to_string(oversubscription) +
                                     "}}]}");
}

} // namespace

TEST_CASE("a hop over the spine passes three switches, one to the same leaf passes one",
          "[machine][closed-form]")
{
  sim::Engine engine;
  const Machine machine(engine, small_switches(1), stack_of("tcp"), 8);
  const sim::Hop near = machine.hop({0, 0}, {1, 0}, Mover::collective);
  const sim::Hop far = machine.hop({0, 0}, {7, 0}, Mover::collective);
  CHECK_THAT((far.latency - near.latency).value(), test::is(2e-6));
}

TEST_CASE("what an adapter writes to GPU memory is flushed, and announced when it is long",
          "[machine][closed-form]")
{
  const auto hop_over = [](const char* network, const char* patch) {
    sim::Engine engine;
    const Machine machine(engine, patched("dgx-a100", patch), stack_of(network), 2);
    return machine.network_hop({{0, 0}, 0}, {{1, 0}, 0});
  };
  const char* plain = "{}";
  const char* efa = R"({"node": {"nics": [{"name": "nic0", "on": "pex0", "type": {
    "name": "reads", "rate": "200 Gb/s", "rdma": true, "link": "infiniband", "latency": "1 us",
    "flush": "15 us", "eager": "8 KiB", "rendezvous": "30 us",
    "completion": "3 us"}}]},
    "networks": [{"nics": ["nic0"], "fabric": "qm8700-hdr"}]})";
  const char* quick = R"({"node": {"nics": [{"name": "nic0", "on": "pex0", "type": {
    "name": "writes", "rate": "200 Gb/s", "rdma": true, "link": "infiniband", "latency": "1 us"}}]},
    "networks": [{"nics": ["nic0"], "fabric": "qm8700-hdr"}]})";
  const sim::Hop slow = hop_over("rdma", efa);
  CHECK_THAT((slow.latency - hop_over("rdma", quick).latency).value(), test::is(15e-6));
  CHECK_THAT(slow.rendezvous.value(), test::is(30e-6));
  CHECK(slow.eager == Bytes(8192));
  // Itself, its flush, its announcement, and the word that it has been read.
  CHECK_THAT(slow.handling.value(), test::is(4 * 3e-6));
  CHECK(hop_over("rdma", quick).handling == Seconds(0));
  CHECK(hop_over("rdma", plain).rendezvous == Seconds(0));
  // Into host memory neither is needed.
  const sim::Hop staged = hop_over("rdma-staged", efa);
  CHECK_THAT((staged.latency - hop_over("rdma-staged", quick).latency).value(), test::is(0));
  CHECK(staged.rendezvous == Seconds(0));
  CHECK_THAT(staged.handling.value(), test::is(3e-6));
}

TEST_CASE("a hop over the spine goes up from its leaf and down to the other", "[machine]")
{
  sim::Engine engine;
  const Machine machine(engine, small_switches(1), stack_of("tcp"), 8);
  const double wire = wire_expansion(machine.framing());
  const sim::Hop near = machine.hop({0, 0}, {1, 0}, Mover::collective);
  const sim::Hop far = machine.hop({2, 0}, {7, 0}, Mover::collective);
  for (int leaf = 0; leaf < 4; ++leaf) {
    const std::string name = "leaf" + std::to_string(leaf);
    CAPTURE(name);
    CHECK(weight_of(near.uses, engine, name + "/up") == 0);
    CHECK(weight_of(near.uses, engine, name + "/down") == 0);
    CHECK(weight_of(far.uses, engine, name + "/up") == (leaf == 1 ? wire : 0));
    CHECK(weight_of(far.uses, engine, name + "/down") == (leaf == 3 ? wire : 0));
  }
  for (int r = 0; r < engine.resource_count(); ++r) {
    const std::string name = engine.name({r});
    const auto leaf = machine.leaf_above({r});
    CHECK(leaf.has_value() == name.starts_with("leaf"));
    if (leaf)
      CHECK(name.starts_with("leaf" + std::to_string(leaf->first_node / 2) + "/"));
  }
}

TEST_CASE("a node with more adapters than a switch's lower ports has several switches above it",
          "[machine][closed-form]")
{
  const auto uplinks = [](const std::string& nics) {
    sim::Engine engine;
    const Machine machine(engine, patched("generic-4gpu", R"({"node": {"nics": [)" + nics + R"(]},
      "networks": [{"nics": ["n0", "n1", "n2"], "fabric": {"name": "small", "ports": 4,
        "port_rate": "100 Gb/s", "switch_latency": "1 us"}}]})"),
                          stack_of("tcp"), 2);
    return capacity_of(engine, "leaf0/up");
  };
  std::string nics;
  for (const char* name : {"n0", "n1", "n2"})
    nics += (nics.empty() ? "" : ", ") + std::string(R"({"name": ")") + name +
            R"(", "type": "connectx4-100gbe", "on": "socket0"})";
  CHECK_THAT(uplinks(nics), test::is(4 * 12.5e9)); // two for each of two switches
}

TEST_CASE("oversubscription divides what a leaf sends to the spine", "[machine][closed-form]")
{
  for (const double oversubscription : {1.0, 2.0, 4.0}) {
    sim::Engine engine;
    const Machine machine(engine, small_switches(oversubscription), stack_of("tcp"), 8);
    CHECK_THAT(capacity_of(engine, "leaf0/up"), test::is(2 * 12.5e9 / oversubscription));
    CHECK_THAT(capacity_of(engine, "leaf3/down"), test::is(2 * 12.5e9 / oversubscription));
  }
}

TEST_CASE("copies to the CPU take a link beside PCIe where there is one", "[machine][closed-form]")
{
  const auto rate = [](const PlatformSpec& spec, bool to_host) {
    sim::Engine engine;
    const Machine machine(engine, spec, stack_of("tcp"), 1);
    const sim::PathPtr path =
        to_host ? machine.device_to_host({0, 0}) : machine.host_to_device({0, 0});
    double least = 1e30;
    for (const sim::Use& use : path->uses)
      least = std::min(least, engine.capacity({use.resource}) / use.weight);
    return least;
  };
  const PlatformSpec plain = load_platform(Value(resolve_preset("generic-4gpu", kPlatformKind)));
  PlatformSpec linked = plain;
  linked.gpu.host_link = BytesPerSecond(20e9);
  CHECK(gpu_link(linked).value() == 20e9);
  CHECK(rate(linked, true) == Approx(20e9));
  CHECK(rate(linked, false) == Approx(20e9));
  CHECK(rate(plain, true) == Approx(gpu_link(plain).value()));
  CHECK(gpu_link(plain) < gpu_link(linked));
  // An adapter under the GPU's switch is reached over PCIe, the CPU over the link.
  const NodeGraph graph(load_platform(Value(resolve_preset("gh200", kPlatformKind))));
  const auto widest = [&](int to) {
    BytesPerSecond most;
    for (const Leg& leg : graph.route(graph.gpu(0), to))
      most = std::max(most, graph.joins()[static_cast<std::size_t>(leg.join)].capacity);
    return most.value();
  };
  CHECK(widest(graph.nic(0)) < 100e9);
  CHECK(widest(graph.socket(0)) == 450e9);
}

TEST_CASE("a copy from pageable memory is read and written once more", "[machine][closed-form]")
{
  sim::Engine engine;
  const Machine machine(engine, load_platform(std::string("generic-4gpu")), stack_of("tcp"), 1);
  const auto passes = [&](bool pinned, const char* socket) {
    return weight_of(machine.host_to_device({0, 3}, pinned)->uses, engine,
                     std::string("node0/") + socket + "/dram");
  };
  CHECK(passes(true, "socket1") == 1);
  CHECK(passes(false, "socket1") == 3);
  CHECK(passes(false, "socket0") == 0);
}

TEST_CASE("a thread behind a GPU gets the share of one, however little it works",
          "[machine][closed-form]")
{
  const PlatformSpec spec = load_platform(std::string("generic-4gpu"));
  sim::Engine engine;
  const Machine machine(engine, spec, stack_of("tcp"), 1);
  const int cores = machine.cores(0).value;
  const double all = engine.capacity({cores});
  // Threads that never wait, four times as many as there are cores: each has a quarter of one.
  const double others = 4 * all;
  const auto busy = sim::make_path({}, {}, others, machine.thread_work(0, 1.0, others));
  const auto rate_beside = [&](double host_threads) {
    sim::MaxMin solver;
    solver.add_resource(all);
    const auto hold = [&](const sim::Path& path) {
      return std::vector<sim::Use>{{0, path.held.uses.front().weight}};
    };
    const sim::PathPtr kernels = machine.compute_path({0, 0}, host_threads);
    const std::vector<sim::Use> of_kernels = hold(*kernels);
    const std::vector<sim::Use> of_others = hold(*busy);
    const int flow = solver.add_flow(of_kernels, kernels->cap, kernels->held.priority);
    solver.add_flow(of_others, busy->cap, busy->held.priority);
    solver.solve([](int, double) {});
    return solver.rate(flow);
  };
  const double share = all / (others + 1);
  CHECK_THAT(rate_beside(1), test::is(share));
  CHECK_THAT(rate_beside(0.5), test::is(2 * share)); // half of the work asks for half of the time
  CHECK_THAT(rate_beside(0.1), test::is(1));
  CHECK_THAT(rate_beside(2), test::is(all / (others + 2)));
}

TEST_CASE("bytes between nodes leave by one side of an adapter and arrive by the other",
          "[machine][closed-form]")
{
  sim::Engine engine;
  const Machine machine(engine, load_platform(std::string("generic-4gpu")), stack_of("tcp"), 2);
  const Transport& tcp = machine.stack().transport;
  const double wire = wire_expansion(machine.framing());
  const double back = acknowledged(tcp, machine.framing());
  const auto hop = machine.hop({0, 0}, {1, 0}, Mover::collective);
  const auto at = [&](const char* resource) { return weight_of(hop.uses, engine, resource); };
  CHECK_THAT(at("node0/eth0/tx"), test::is(wire));
  CHECK_THAT(at("node0/eth0/rx"), test::is(back));
  CHECK_THAT(at("node1/eth0/rx"), test::is(wire));
  CHECK_THAT(at("node1/eth0/tx"), test::is(back));
  for (const char* memory : {"node0/socket0/dram", "node1/socket0/dram"})
    CHECK_THAT(at(memory), test::is(2 + 2 * tcp.all_copies()));
}

TEST_CASE("kernels and copy engines move over NVLink at rates of their own", "[machine]")
{
  sim::Engine engine;
  const auto spec = load_platform(std::string("c4140-k-v100-sxm2"));
  const Machine machine(engine, spec, stack_of("tcp"), 1);
  const auto weight = [&](Mover mover) {
    return machine.hop({0, 0}, {0, 1}, mover).uses.front().weight;
  };
  CHECK_THAT(weight(Mover::copy_engine), test::is(1 / spec.gpu.nvlink_copy_efficiency));
  CHECK_THAT(weight(Mover::collective), test::is(1 / spec.gpu.nvlink_collective_efficiency));
}

TEST_CASE("GPUs of two sockets send through memory, where kernels are slower than copies",
          "[machine][closed-form]")
{
  sim::Engine engine;
  const auto spec = load_platform(std::string("generic-4gpu"));
  const Machine machine(engine, spec, stack_of("tcp"), 1);
  const auto collective = machine.hop({0, 0}, {0, 2}, Mover::collective);
  const auto copied = machine.hop({0, 0}, {0, 2}, Mover::copy_engine);
  CHECK(weight_of(copied.uses, engine, "node0/gpu0/pcie/up") == 1);
  CHECK(weight_of(copied.uses, engine, "node0/gpu0/root-port") == 1);
  CHECK_THAT(weight_of(collective.uses, engine, "node0/gpu0/root-port"),
             test::is(1 / spec.cpu.kernel_staging));
  for (const auto& uses : {collective.uses, copied.uses}) {
    CHECK(weight_of(uses, engine, "node0/socket0/dram") == 2);
    CHECK(weight_of(uses, engine, "node0/socket1/dram") == 0);
  }
}

TEST_CASE("a host bridge forwards peer traffic in packets of its own size",
          "[machine][closed-form]")
{
  sim::Engine engine;
  const auto spec = patched("generic-4gpu", R"({"node": {"pcie_max_payload": "256 B"}})");
  const Machine machine(engine, spec, stack_of("tcp"), 1);
  const auto hop = machine.hop({0, 0}, {0, 1}, Mover::collective);
  CHECK(weight_of(hop.uses, engine, "node0/gpu0/pcie/up") == 1);
  CHECK_THAT(
      weight_of(hop.uses, engine, "node0/gpu1/pcie/down"),
      test::is(pcie_bandwidth(3, 1, Bytes(256)) / pcie_bandwidth(3, 1, spec.cpu.peer_packet)));
  CHECK(spec.cpu.peer_packet < Bytes(256));
}

TEST_CASE("access control sends what passes between devices of a switch over the host bridge",
          "[machine][closed-form]")
{
  const auto cascade = [](bool acs) {
    return patched("generic-4gpu",
                   fmt::format(R"({{"node": {{"pcie_acs": {}, "pcie_max_payload": "256 B",
      "pcie_switches": [{{"name": "plx0", "on": "socket0"}}, {{"name": "plx1", "on": "plx0"}},
                        {{"name": "plx2", "on": "plx0"}}],
      "gpus": {{"type": "v100-pcie-16gb", "on": ["plx1", "plx1", "plx2", "socket0"]}}}}}})",
                               acs));
  };
  sim::Engine engine;
  const auto spec = cascade(true);
  const Machine machine(engine, spec, stack_of("tcp"), 1);
  const double small =
      pcie_bandwidth(3, 1, Bytes(256)) / pcie_bandwidth(3, 1, spec.cpu.peer_packet);
  SECTION("up all switches in whole packets, down in the host bridge's")
  {
    for (const int peer : {1, 2}) {
      const auto hop = machine.hop({0, 0}, {0, peer}, Mover::collective);
      const auto target = fmt::format("node0/gpu{}/pcie/down", peer);
      CHECK(weight_of(hop.uses, engine, "node0/gpu0/pcie/up") == 1);
      CHECK(weight_of(hop.uses, engine, "node0/plx1/pcie/up") == 1);
      CHECK(weight_of(hop.uses, engine, "node0/plx0/pcie/up") == 1);
      CHECK_THAT(weight_of(hop.uses, engine, "node0/plx0/root-port"), test::is(1 + small));
      CHECK_THAT(weight_of(hop.uses, engine, "node0/plx0/pcie/down"), test::is(small));
      CHECK_THAT(weight_of(hop.uses, engine, fmt::format("node0/plx{}/pcie/down", peer)),
                 test::is(small));
      CHECK_THAT(weight_of(hop.uses, engine, target), test::is(small));
    }
  }
  SECTION("what passes the host bridge anyway, or ends in memory, goes as before")
  {
    sim::Engine free;
    const Machine without(free, cascade(false), stack_of("tcp"), 1);
    const auto weights = [](const sim::Engine& in, const std::vector<sim::Use>& uses) {
      std::map<std::string, double> list;
      for (const sim::Use& use : uses)
        list[in.name({use.resource})] += use.weight;
      return list;
    };
    CHECK(weights(engine, machine.hop({0, 0}, {0, 3}, Mover::collective).uses) ==
          weights(free, without.hop({0, 0}, {0, 3}, Mover::collective).uses));
    CHECK(weights(engine, machine.host_to_device({0, 0}, true)->uses) ==
          weights(free, without.host_to_device({0, 0}, true)->uses));
    CHECK(weight_of(without.hop({0, 0}, {0, 1}, Mover::collective).uses, free,
                    "node0/plx1/pcie/up") == 0);
  }
  SECTION("a guest whose devices are translated by the IOMMU is one of these")
  {
    sim::Engine guest;
    auto stack = stack_of("tcp");
    stack.host.pcie_acs = true;
    const Machine in_guest(guest, cascade(false), stack, 1);
    CHECK(weight_of(in_guest.hop({0, 0}, {0, 1}, Mover::collective).uses, guest,
                    "node0/plx0/pcie/up") == 1);
  }
}

TEST_CASE("GPUs take turns on adapters that are equally near", "[machine]")
{
  sim::Engine engine;
  const auto spec = patched("generic-4gpu", R"({
    "node": {"nics": [{"name": "eth0", "type": "connectx4-100gbe", "on": "socket0"},
                      {"name": "eth1", "type": "connectx4-100gbe", "on": "socket0"}]},
    "networks": [{"nics": ["eth0", "eth1"], "fabric": "ethernet-100g"}]})");
  const Machine machine(engine, spec, stack_of("tcp"), 2);
  CHECK(machine.nic_of(0) != machine.nic_of(1));
  CHECK(machine.nic_of(2) != machine.nic_of(3));
}

TEST_CASE("a GPU that has several adapters to itself sends through all of them", "[machine]")
{
  const auto machine_with = [](sim::Engine& engine, const char* base, const std::string& nics) {
    const auto spec = patched(base, R"({
      "node": {"nics": [{"name": "a", "type": "connectx4-100gbe", "on": "socket0"},
                        {"name": "b", "type": "connectx4-100gbe", "on": "socket0"},
                        {"name": "c", "type": "ethernet-10g", "on": "socket0"}]},
      "networks": [{"nics": )" + nics + R"(, "fabric": "ethernet-100g"}]})");
    return Machine(engine, spec, stack_of("tcp"), 2);
  };
  sim::Engine engine;
  const Machine two = machine_with(engine, "generic-1gpu", R"(["a", "b", "c"])");
  CHECK(two.nics_of(0) == std::vector<int>{0, 1}); // not the slower one
  CHECK(machine_with(engine, "generic-4gpu", R"(["a", "b"])").nics_of(3).size() == 1);

  // Half of the bytes leave through each, and arrive so; the rest of the way takes all of them.
  const Machine one = machine_with(engine, "generic-1gpu", R"(["a"])");
  const auto sent = [&engine](const Machine& machine, const std::string& through) {
    double weight = 0;
    const sim::Hop hop = machine.hop({0, 0}, {1, 0}, Mover::collective);
    for (const sim::Use& use : hop.uses)
      if (engine.name({use.resource}) == through)
        weight += use.weight;
    return weight;
  };
  for (const char* way : {"node0/a/tx", "node1/a/rx", "node0/a/rx"})
    CHECK_THAT(sent(two, way), test::is(sent(one, way) / 2));
  CHECK_THAT(sent(two, "node0/b/tx"), test::is(sent(two, "node0/a/tx")));
  CHECK(sent(one, "node0/a/tx") > 1);
  CHECK_THAT(sent(two, "node0/gpu0/pcie/up"), test::is(sent(one, "node0/gpu0/pcie/up")));
  CHECK(two.hop({0, 0}, {1, 0}, Mover::collective).cap ==
        2 * one.hop({0, 0}, {1, 0}, Mover::collective).cap);
}

TEST_CASE("a GPU sends through the adapter that carries most for it, of those the nearest",
          "[machine]")
{
  const auto nic_of = [](const char* first, const char* second, const char* at) {
    sim::Engine engine;
    const auto spec = patched("generic-4gpu", fmt::format(R"({{
      "node": {{"nics": [{{"name": "a", "type": "{}", "on": "socket0"}},
                        {{"name": "b", "type": "{}", "on": "{}"}}]}},
      "networks": [{{"nics": ["a", "b"], "fabric": "ethernet-100g"}}]}})",
                                                          first, second, at));
    return Machine(engine, spec, stack_of("tcp"), 2).nic_of(0);
  };
  CHECK(nic_of("connectx4-100gbe", "ethernet-10g", "socket0") == 0);
  CHECK(nic_of("ethernet-10g", "connectx4-100gbe", "socket0") == 1);
  CHECK(nic_of("ethernet-10g", "connectx4-100gbe", "socket1") ==
        1); // further, and ten times as fast
  CHECK(nic_of("connectx4-100gbe", "connectx4-100gbe", "socket1") == 0);
}

TEST_CASE("PCIe codes 8 bits in 10 up to generation 2, then 128 in 130", "[machine][closed-form]")
{
  const auto lane = [](int generation) {
    return pcie_bandwidth(generation, 1, Bytes(1e12)).value(); // headers vanish
  };
  CHECK(lane(1) == Approx(2.5e9 / 8 * 0.8));
  CHECK(lane(2) == Approx(5e9 / 8 * 0.8));
  CHECK(lane(3) == Approx(8e9 / 8 * 128 / 130));
  CHECK(lane(5) == Approx(32e9 / 8 * 128 / 130));
}

TEST_CASE("GPU memory gives streaming kernels its efficiency", "[machine][closed-form]")
{
  sim::Engine engine;
  const auto spec = load_platform(std::string("generic-4gpu"));
  const Machine machine(engine, spec, stack_of("tcp"), 1);
  CHECK(spec.gpu.memory_efficiency < 1);
  CHECK(machine.compute({0, 0}).value >= 0);
  CHECK_THAT(capacity_of(engine, "node0/gpu0/memory"),
             test::is(spec.gpu.memory_efficiency * spec.gpu.memory_bandwidth.value()));
}

} // namespace foretrain::machine_test
