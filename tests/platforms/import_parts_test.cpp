// Which part a file's numbers name, by the tables of PCI and CPU ids.
#include "platforms/import_parts.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

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
  for (const auto& [capability, bricks] : {std::pair(80, 0), {61, 2}, {88, 1}})
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
  const auto cpu = [](const char* vendor, int family, int model, int logical, Notes& notes) {
    FoundNode found;
    found.sockets.resize(2);
    for (FoundSocket& socket : found.sockets) {
      socket.vendor = vendor;
      socket.family = family;
      socket.model = model;
      socket.logical_cpus = logical;
    }
    return cpu_preset(found, {}, notes);
  };
  Notes notes;
  CHECK(cpu("GenuineIntel", 6, 79, 0, notes) == "xeon-e5-2698v4");
  CHECK(*notes.begin() ==
        "cpu: xeon-e5-2698v4 was assumed, as the bundled CPU of family 6 model 79 "
        "(--cpu)");
  CHECK(cpu("GenuineIntel", 6, 158, 0, notes) == "i5-6600"); // a client
  CHECK(cpu("AuthenticAMD", 143, 49, 0, notes) == "epyc-7742");
  CHECK(cpu("AuthenticAMD", 23, 49, 0, notes) == "epyc-7742");
  CHECK(cpu("AuthenticAMD", 175, 1, 0, notes) == "epyc-7742"); // 25 = 15 + 10
  CHECK_THROWS_WITH(cpu("AuthenticAMD", 22, 1, 0, notes), Contains("give --cpu"));
  CHECK_THROWS_WITH(cpu("GenuineIntel", 7, 79, 0, notes), Contains("give --cpu"));
  // 20 cores: 20 and 40 logical CPUs of a socket are right, others told.
  for (const auto& [logical, told] : {std::pair(0, false), {20, false}, {40, false}, {36, true}}) {
    Notes of_cores;
    CHECK(cpu("GenuineIntel", 6, 85, logical, of_cores) == "xeon-gold-6148");
    CHECK(of_cores.size() == (told ? 2 : 1));
  }
  Notes none;
  CHECK(cpu("", 0, 0, 0, none) == "xeon-gold-6148");
  CHECK_THAT(*none.begin(), Contains("the file does not name the CPU"));
}

TEST_CASE("an adapter is a bundled one by its ids and speed, else as the file tells", "[import]")
{
  FoundNic nic = adapter("mlx5_0", 100000);
  nic.vendor = 0x15b3;
  nic.device = 0x1017;
  CHECK(Part(nic).part == "connectx5-edr"); // of InfiniBand by its name
  nic.fabric = false;
  CHECK(Part(nic).part == "connectx5-100gbe");
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
