#include "platforms/import.hpp"

#include "platforms/rings.hpp"
#include "tests/platforms/import_support.hpp"
#include "tests/support/catch.hpp"

#include <numeric>

namespace foretrain::import_test {

using namespace foretrain::platforms;
using namespace foretrain::test;
using Catch::Matchers::Contains;

namespace {

// GPUs, NVLinks and PCIe distances of GPUs and of the adapters both know (by number).
void check_same(const PlatformSpec& imported, const PlatformSpec& bundled, bool gpu_distances)
{
  const NodeGraph a(imported);
  const NodeGraph b(bundled);
  REQUIRE(a.gpus() == b.gpus());
  CHECK(a.nvswitch() == b.nvswitch());
  const int nics = std::min(a.nics(), b.nics());
  for (int i = 0; i < a.gpus(); ++i) {
    for (int j = 0; j < a.gpus(); ++j) {
      CAPTURE(i, j);
      CHECK(a.bricks(i, j) == b.bricks(i, j));
      CHECK(a.classify(a.gpu(i), a.gpu(j)) == b.classify(b.gpu(i), b.gpu(j)));
      if (gpu_distances)
        CHECK(a.route(a.gpu(i), a.gpu(j)).size() == b.route(b.gpu(i), b.gpu(j)).size());
    }
    for (int n = 0; n < nics; ++n) {
      CAPTURE(i, n);
      CHECK(a.classify(a.gpu(i), a.nic(n)) == b.classify(b.gpu(i), b.nic(n)));
    }
  }
}

} // namespace

TEST_CASE("fixtures of bundled machines import as those machines", "[import]")
{
  struct Case {
    const char* file;
    const char* bundled;
    const char* gpu;
  };
  const auto c = GENERATE(
      Case{"dgx1-v100.xml", "dgx1-v100", ""}, Case{"dgx-a100.xml", "dgx-a100", ""},
      Case{"c4140-k.xml", "c4140-k-v100-sxm2", ""},
      Case{"v100-pcie-4gpu.xml", "v100-pcie-4gpu", ""}, Case{"dgx1-v100-2017.txt", "dgx1-v100", ""},
      Case{"c4140-m-terminal.txt", "c4140-m-v100-sxm2", ""},
      Case{"hgx-h100-paste.txt", "hgx-h100", ""},
      Case{"pcie-10gpu-bare.txt", "pcie-10gpu", "titanx-pascal"});
  CAPTURE(c.file);
  const auto imported = import_platform(fixture(c.file), c.file, {.gpu = c.gpu});
  const auto spec = loaded(imported);
  const auto bundled = load_platform(std::string(c.bundled));
  CHECK(spec.gpu.name == bundled.gpu.name);
  check_same(spec, bundled, std::string(c.file).ends_with(".xml"));
  CHECK(imported.json["notes"].size() == imported.notes.size());
  CHECK(imported.notes.size() >= 3); // memory, disks and fabric are never in such a file
}

TEST_CASE("every bundled platform survives the way through both formats", "[import][property]")
{
  for (const auto& name : preset_names(kPlatformKind)) {
    const auto spec = load_platform(name);
    if (spec.gpus_per_node() == 0 || spec.gpus_per_node() > 16) // racks have no file of one node
      continue;
    CAPTURE(name);
    const auto& type = spec.node.gpus->type.json();
    const auto& cpu = spec.node.cpu.json(); // "any" in machines that are to be copied and edited
    const ImportOptions options{.name = name,
                                .gpu = type.get<std::string>(),
                                .cpu = cpu.is_string() ? cpu.get<std::string>()
                                                       : "xeon-platinum-8480c",
                                .nic = "connectx5-edr"};
    check_same(loaded(import_platform(as_nccl_xml(spec), name, options)), spec, true);
    check_same(loaded(import_platform(as_topo_matrix(spec), name, options)), spec, false);
  }
}

TEST_CASE("what the file tells is not assumed", "[import]")
{
  const auto dgx = loaded(import_platform(fixture("dgx1-v100.xml"), "f", {}));
  CHECK(dgx.gpu.name == "V100-SXM2-16GB"); // by PCI device id
  CHECK(dgx.cpu.name == "Intel Xeon E5-2698 v4");
  CHECK(dgx.nics.at(0).name == "Mellanox ConnectX-4 VPI EDR");
  CHECK(dgx.node.nics.at(3).name == "mlx5_3");
  const auto imported = import_platform(fixture("dgx1-v100.xml"), "f", {});
  for (const auto& note : imported.notes)
    CHECK_THAT(note, !Contains("pcie_switches")); // link speeds are in the file

  const auto given = import_platform(fixture("dgx1-v100.xml"), "f",
                                     {.name = "mine",
                                      .gpu = "v100-sxm2-32gb",
                                      .memory = "1 TB",
                                      .fabric = "sb7800-edr",
                                      .nodes = 3});
  const auto spec = loaded(given);
  CHECK(spec.name == "mine");
  CHECK(spec.gpu.name == "V100-SXM2-32GB");
  CHECK(spec.node.memory.value() == 1e12);
  CHECK(spec.max_nodes == 3);
  for (const auto& note : given.notes)
    CHECK_THAT(note, !Contains("memory") && !Contains("one node"));
}

TEST_CASE("an adapter of unknown make keeps the speed of the file", "[import]")
{
  std::string text = fixture("v100-pcie-4gpu.xml");
  text.insert(text.find("  </cpu>"),
              "<pci busid=\"0000:01:00.0\" class=\"0x020000\" link_speed=\"5 GT/s\" "
              "link_width=\"8\"><nic><net name=\"bnxt_re0\" speed=\"25000\"/><net name=\"eth9\" "
              "speed=\"-1\"/></nic></pci>\n");
  CHECK_THAT(import_error(text), Contains("speed of adapter 'eth9'") && Contains("--nic"));
  text.replace(text.find("-1"), 2, "10000");
  const auto spec = loaded(import_platform(text, "f", {}));
  REQUIRE(spec.nics.size() == 2);
  CHECK_THAT(spec.nics[0].rate.value(), test::is(25e9 / 8));
  CHECK(spec.nics[0].rdma);
  CHECK(spec.nics[0].link == LinkLayer::ethernet);
  CHECK(spec.nics[0].pcie_generation == 2);
  CHECK(spec.nics[0].pcie_lanes == 8);
  CHECK_FALSE(spec.nics[1].rdma);
}

TEST_CASE("NVSwitch boards with fewer links keep their number", "[import]")
{
  std::string text = fixture("dgx-a100.xml");
  for (std::size_t at = 0; (at = text.find("<nvlink target=\"0000:c4", at)) != std::string::npos;)
    text.erase(at, text.find("/>", at) + 2 - at);
  const auto spec = loaded(import_platform(text, "f", {}));
  CHECK(spec.gpu.nvlink_bricks == 10);
  CHECK(spec.node.nvlink.nvswitch);
}

TEST_CASE("NUMA nodes can be joined into sockets", "[import]")
{
  std::string text = fixture("dgx-a100.xml");
  text.replace(text.find("numaid=\"0\""), 10, "numaid=\"3\"");
  text.replace(text.find("numaid=\"1\""), 10, "numaid=\"5\"");
  CHECK(loaded(import_platform(text, "f", {.numa_per_socket = 4})).node.sockets == 2);
  CHECK(loaded(import_platform(text, "f", {.numa_per_socket = 8})).node.sockets == 1);
}

TEST_CASE("a virtual machine that hides the tree is placed by NUMA affinity", "[import]")
{
  const std::string text = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\n"
                           "GPU0\tX\tSYS\tPIX\t0-3\t0\nGPU1\tSYS\tX\tSYS\t0-3\t0\n"
                           "NIC0\tPIX\tSYS\tX\n";
  const auto imported = import_platform(text, "f", {.gpu = "v100-pcie"});
  const auto spec = loaded(imported);
  CHECK(spec.node.sockets == 1);
  std::string notes;
  for (const auto& note : imported.notes)
    notes += note + "\n";
  CHECK_THAT(notes, Contains("virtual machines") && Contains("SYS became PHB for 2 pairs"));
}

namespace {

// Eight GPUs in four NUMA nodes as a cloud provider's NCCL_TOPO_FILE lists them: no <gpu> entries.
std::string by_hand(const char* family, int gpus = 8)
{
  std::string text = "<system version=\"1\">";
  for (int n = 0; n < gpus / 2; ++n)
    text +=
        fmt::format("<cpu numaid=\"{0}\" vendor=\"AuthenticAMD\" familyid=\"{1}\" modelid=\"49\">"
                    "<pci busid=\"ffff:ff:0{0}.0\" class=\"0x060400\">"
                    "<pci busid=\"000{0}:00:00.0\" class=\"0x030200\"/>"
                    "<pci busid=\"010{0}:00:00.0\" class=\"0x020700\"/>"
                    "<pci busid=\"020{0}:00:00.0\" class=\"0x030200\"/></pci></cpu>",
                    n, family);
  return text + "</system>";
}

} // namespace

TEST_CASE("switches beside Hopper's GPUs add, those beside A100 do not", "[import]")
{
  const auto adds = [](const ImportOptions& options) {
    return loaded(import_platform(by_hand("23"), "file", options)).node.nvlink.in_network_reduction;
  };
  CHECK_FALSE(adds({.gpu = "a100-sxm4-40gb"}));
  CHECK(adds({.gpu = "h100-sxm5-80gb"}));
  CHECK(adds({.gpu = "h100-sxm5-80gb", .nvlink = "switch"}));
  CHECK(adds({.gpu = "h100-sxm5-80gb", .nvlink = "hgx-h100"}));
  CHECK_FALSE(adds({.gpu = "a100-sxm4-40gb", .nvlink = "dgx-a100"}));
  CHECK_THROWS_WITH(adds({.gpu = "h100-sxm5-80gb", .nvlink = "swich"}),
                    Catch::Contains("did you mean switch?"));
  CHECK_THROWS_WITH(adds({.gpu = "h100-sxm5-80gb", .nvlink = "hgx-h10"}),
                    Catch::Contains("hgx-h100"));
}

TEST_CASE("a file that names no NVLinks of GPUs that have some is told or asked about", "[import]")
{
  const auto family = GENERATE("143", "23"); // NCCL's number of the CPU family, and the kernel's
  const auto a100 = import_platform(by_hand(family), "file", {.gpu = "a100-sxm4-40gb"});
  CHECK(NodeGraph(loaded(a100)).nvswitch());
  CHECK(loaded(a100).cpu.name ==
        loaded(
            import_platform(by_hand(family), "file", {.gpu = "a100-sxm4-40gb", .cpu = "epyc-7742"}))
            .cpu.name);
  CHECK(std::count_if(a100.notes.begin(), a100.notes.end(), [](const std::string& note) {
          return note.find("warning: nvlink") != std::string::npos;
        }) == 1);

  CHECK_THAT(import_error(by_hand(family), {.gpu = "v100-sxm2-32gb"}),
             Contains("says nothing about NVLink") && Contains("--nvlink"));
  const NodeGraph mesh(loaded(
      import_platform(by_hand(family), "file", {.gpu = "v100-sxm2-32gb", .nvlink = "dgx1-v100"})));
  CHECK(mesh.bricks(0, 3) ==
        NodeGraph(load_platform(resolve_preset(std::string("dgx1-v100"), kPlatformKind)))
            .bricks(0, 3));
  const NodeGraph none(loaded(
      import_platform(by_hand(family), "file", {.gpu = "v100-sxm2-32gb", .nvlink = "none"})));
  CHECK(none.bricks(0, 3) == 0);
  const NodeGraph four(
      loaded(import_platform(by_hand(family, 4), "file", {.gpu = "a100-sxm4-40gb"})));
  CHECK(four.bricks(0, 3) == 4);
  CHECK_THAT(import_error(by_hand(family), {.gpu = "gtx1080", .nvlink = "switch"}),
             Contains("has no NVLink"));
}

} // namespace foretrain::import_test
