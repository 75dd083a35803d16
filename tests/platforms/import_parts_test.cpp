// Which part a file's numbers name, by the tables of PCI and CPU ids.
#include "platforms/import_parts.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

namespace foretrain::import_parts_test {

using namespace foretrain::platforms;
using Catch::Matchers::Contains;

namespace {

FoundNode node(int gpus, int bricks_between)
{
  FoundNode found;
  const auto count = static_cast<std::size_t>(gpus);
  found.gpus.resize(count);
  found.bricks.assign(count, std::vector<int>(count, bricks_between));
  for (std::size_t g = 0; g < count; ++g)
    found.bricks[g][g] = 0;
  return found;
}

std::string gpu_of(const FoundNode& found)
{
  Notes notes;
  return gpu_preset(found, {}, notes);
}

std::string by_capability(int capability, int bricks)
{
  FoundNode found = node(2, bricks);
  for (FoundGpu& gpu : found.gpus)
    gpu.compute_capability = capability;
  return gpu_of(found);
}

FoundNic adapter(const char* name, double megabits)
{
  FoundNic nic;
  nic.name = name;
  nic.megabits = megabits;
  return nic;
}

struct Part {
  Json part;
  Notes notes;
  explicit Part(const FoundNic& nic, int generation = 3)
  {
    Gpu gpu;
    gpu.pcie_generation = generation;
    part = nic_part(nic, gpu, {}, notes);
  }
};

} // namespace

TEST_CASE("a GPU is named by its device, else by what it can compute and its NVLinks", "[import]")
{
  FoundNode found = node(2, 0);
  for (FoundGpu& gpu : found.gpus)
    gpu.device = 0x1db5;
  CHECK(gpu_of(found) == "v100-sxm2-32gb");
  found.gpus[1].device = 0x1db4;
  CHECK_THROWS_WITH(gpu_of(found), Contains("GPU 1 (sm 0, device 0x1db4) differs from GPU 0"));
  CHECK(by_capability(60, 0) == "p100-pcie-16gb");
  CHECK(by_capability(60, 1) == "p100-sxm2-16gb");
  CHECK(by_capability(61, 0) == "gtx1080");
  CHECK(by_capability(90, 18) == "h100-sxm5-80gb");
  for (const auto& [capability, name] : {std::pair(80, "a100-pcie-40gb"),
                                         {86, "a40"},
                                         {89, "l40s"},
                                         {90, "h100-pcie"},
                                         {120, "rtx5090"}})
    CHECK(by_capability(capability, 0) == name);
  for (const auto& [device, name] :
       {std::pair(0x1eb8, "t4"), {0x20f1, "a100-pcie-40gb"}, {0x2331, "h100-pcie"}}) {
    for (FoundGpu& gpu : found.gpus)
      gpu.device = device;
    CHECK(gpu_of(found) == name);
  }
  for (const auto& [capability, bricks] : {std::pair(88, 0), {61, 2}, {88, 1}})
    CHECK_THROWS_WITH(by_capability(capability, bricks), Contains("give --gpu"));
  // A matrix alone: links to all peers together, or through a switch the links to each.
  CHECK(gpu_of(node(5, 1)) == "p100-sxm2-16gb");
  CHECK(gpu_of(node(4, 2)) == "v100-sxm2-16gb");
  CHECK(gpu_of(node(8, 12)) == "a100-sxm4-40gb");
  CHECK(gpu_of(node(8, 18)) == "h100-sxm5-80gb");
  CHECK_THROWS_WITH(gpu_of(node(2, 6)), Contains("does not tell the GPU model")); // of any board
  CHECK_THROWS_WITH(gpu_of(node(4, 0)), Contains("does not tell the GPU model"));
}

TEST_CASE("a CPU is named by vendor, family and model, as NCCL or the kernel count families",
          "[import]")
{
  Gpu gpu;
  const auto cpu = [&](const char* vendor, int family, int model, int logical, Notes& notes) {
    FoundNode found;
    found.sockets.resize(2);
    for (FoundSocket& socket : found.sockets) {
      socket.vendor = vendor;
      socket.family = family;
      socket.model = model;
      socket.logical_cpus = logical;
    }
    return cpu_part(found, gpu, {}, notes);
  };
  Notes notes;
  CHECK(cpu("GenuineIntel", 6, 79, 0, notes) == "xeon-e5-2698v4");
  CHECK(*notes.begin() ==
        "cpu: xeon-e5-2698v4 was assumed, as the bundled CPU of family 6 model 79 "
        "(--cpu)");
  CHECK(cpu("GenuineIntel", 6, 158, 0, notes) == "i5-6600"); // a client
  CHECK(cpu("AuthenticAMD", 143, 49, 0, notes) == "epyc-7742");
  CHECK(cpu("AuthenticAMD", 23, 49, 0, notes) == "epyc-7742");
  CHECK(cpu("AuthenticAMD", 175, 1, 0, notes) == "epyc-7763"); // 25 = 15 + 10
  CHECK(cpu("AuthenticAMD", 25, 17, 0, notes) == "epyc-9654");
  CHECK(cpu("AuthenticAMD", 26, 2, 0, notes) == "epyc-9575f");
  CHECK(cpu("GenuineIntel", 6, 106, 0, notes) == "xeon-platinum-8380");
  CHECK(cpu("GenuineIntel", 6, 207, 0, notes) == "xeon-platinum-8570");
  CHECK_THROWS_WITH(cpu("AuthenticAMD", 22, 1, 0, notes), Contains("give --cpu"));
  CHECK_THROWS_WITH(cpu("GenuineIntel", 7, 79, 0, notes), Contains("give --cpu"));
  // 20 cores: 20 and 40 logical CPUs of a socket are right, others told.
  for (const auto& [logical, told] : {std::pair(0, false), {20, false}, {40, false}, {36, true}}) {
    Notes of_cores;
    CHECK(cpu("GenuineIntel", 6, 85, logical, of_cores) == "xeon-gold-6148");
    CHECK(of_cores.size() == (told ? 2 : 1));
  }
  Notes none;
  for (const auto& [generation, name] :
       {std::pair(3, "xeon-gold-6148"), {4, "epyc-7742"}, {5, "xeon-platinum-8480c"}}) {
    gpu.pcie_generation = generation;
    CHECK(cpu("", 0, 0, 0, none) == name);
  }
  CHECK_THAT(*none.begin(), Contains("the file does not name the CPU"));
}

TEST_CASE("a CPU's PCIe is no slower than what the file says of the links of its sockets",
          "[import]")
{
  const Gpu gpu;
  FoundNode found;
  found.sockets.resize(1);
  found.sockets.front() = {.vendor = "GenuineIntel", .family = 6, .model = 85}; // generation 3
  found.gpus = {{.on = "socket0", .link = {4, 16}}};
  const auto with_pcie = [](const char* cpu, int generation) {
    return Json{{"extends", cpu}, {"pcie_generation", generation}};
  };
  Notes notes;
  CHECK(cpu_part(found, gpu, {}, notes) == with_pcie("xeon-gold-6148", 4));
  CHECK_THAT(fmt::format("{}", fmt::join(notes, " ")),
             Contains("PCIe generation 4 instead of xeon-gold-6148's 3"));
  found.gpus.front().link.generation = 3;
  CHECK(cpu_part(found, gpu, {}, notes) == "xeon-gold-6148");
  found.gpus.front().link.generation.reset();
  CHECK(cpu_part(found, gpu, {}, notes) == "xeon-gold-6148");
  // Behind a switch the socket sees the uplink alone.
  found.switches = {{.name = "switch0", .on = "socket0", .uplink = {3, 16}}};
  found.gpus = {{.on = "switch0", .link = {5, 16}}};
  CHECK(cpu_part(found, gpu, {}, notes) == "xeon-gold-6148");
  found.switches.front().uplink.generation = 5;
  CHECK(cpu_part(found, gpu, {}, notes) == with_pcie("xeon-gold-6148", 5));
  found.switches.clear();
  found.gpus.clear();
  found.nics = {adapter("mlx5_0", 100000)};
  found.nics.front().on = "socket0";
  found.nics.front().link.generation = 4;
  CHECK(cpu_part(found, gpu, {}, notes) == with_pcie("xeon-gold-6148", 4));
  // Who names a CPU has it, and is told.
  Notes named;
  CHECK(cpu_part(found, gpu, {.cpu = "xeon-gold-6148"}, named) == "xeon-gold-6148");
  REQUIRE(named.size() == 1);
  CHECK_THAT(*named.begin(), Contains("limits links that the file says run at generation 4"));
  Notes fast;
  CHECK(cpu_part(found, gpu, {.cpu = "epyc-7742"}, fast) == "epyc-7742");
  CHECK(fast.empty());
}

TEST_CASE("an adapter is a bundled one by its ids and speed, else as the file tells", "[import]")
{
  FoundNic nic = adapter("mlx5_0", 100000);
  nic.vendor = 0x15b3;
  nic.device = 0x1017;
  CHECK(Part(nic).part == "connectx5-edr"); // of InfiniBand by its name
  nic.fabric = false;
  CHECK(Part(nic).part == "connectx5-100gbe");
  // The link that its slot gave it is the file's, whatever the adapter could have.
  nic.link = {3, 8};
  const Part narrow(nic);
  CHECK(narrow.part ==
        Json{{"extends", "connectx5-100gbe"}, {"pcie_generation", 3}, {"pcie_lanes", 8}});
  CHECK_THAT(*narrow.notes.begin(),
             Contains("the link of mlx5_0 runs at PCIe generation 3 with 8"));
  nic.link = {3, 16};
  CHECK(Part(nic).part == "connectx5-100gbe");
  nic.link = {};
  nic.megabits = 25000; // a slower one
  CHECK(Part(nic).part.at("rate") == "25 Gb/s");
  nic = adapter("eth0", 10000);
  const Part plain(nic);
  CHECK(plain.part == Json{{"name", "eth0"},
                           {"rate", "10 Gb/s"},
                           {"link", "ethernet"},
                           {"rdma", false},
                           {"latency", "1 us"}});
  CHECK(plain.notes == Notes{"nics: eth0 was assumed to speak Ethernet, by its name",
                             "nics: eth0 cannot do RDMA, by its name; 1 us latency was assumed",
                             "nics: PCIe generation 3 and 16 lanes were assumed where the file "
                             "does not tell"});
  nic = adapter("bnxt_re0", 200000);
  nic.fabric = false;
  nic.link = {4, 8};
  const Part told(nic);
  CHECK(told.part.at("rdma") == true);
  CHECK(told.part.at("pcie_generation") == 4);
  CHECK(told.part.at("pcie_lanes") == 8);
  CHECK(told.notes == Notes{"nics: bnxt_re0 can do RDMA, by its name; 1 us latency was assumed"});
  nic.link.lanes.reset();
  CHECK(Part(nic).notes.size() == 2);
  for (const char* name :
       {"mlx5_1", "irdma0", "rocep3s0", "ibp9s0", "qedr1", "hns_0", "efa_0", "rdmap0s6", "i40iw0"})
    CHECK(Part(adapter(name, 50000)).part.at("rdma") == true);
}

TEST_CASE("an adapter of unknown speed is the one of machines with such GPUs, or asked for",
          "[import]")
{
  for (const char* name : {"mlx5_0", "NIC3"}) {
    CHECK(Part(adapter(name, 0), 2).part == "connectx5-edr");
    CHECK(Part(adapter(name, 0), 3).part == "connectx5-edr");
    CHECK(Part(adapter(name, 0), 4).part == "connectx6-hdr");
    const Part newest(adapter(name, 0), 5);
    CHECK(newest.part == "connectx7-ndr");
    CHECK_THAT(*newest.notes.begin(), Contains("PCIe generation 5 GPUs (--nic)"));
  }
  FoundNic nic = adapter("eth0", 0);
  CHECK_THROWS_WITH(Part(nic), Contains("speed of adapter 'eth0'") && Contains("--nic"));
  nic.fabric = true;
  CHECK(Part(nic).part == "connectx5-edr");
  nic.vendor = 0x8086; // it is told of what make it is, which is none of these
  CHECK_THROWS_AS(Part(nic), UsageError);
}

} // namespace foretrain::import_parts_test
