#include "tests/platforms/import_support.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::import_errors_test {

using namespace foretrain::platforms;
using namespace foretrain::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to)
{
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("mistakes in a topology XML are told with their line", "[import][errors]")
{
  const std::string good = fixture("dgx1-v100.xml");
  struct Case {
    const char* from;
    const char* to;
    const char* line;
    const char* message;
  };
  const auto c = GENERATE(
      Case{"version=\"1\"", "version=\"9\"", "file:1:", "must have version=\"1\", got '9'"},
      Case{"<system", "<topology", "file:", "is not well-formed XML"},
      Case{"0000:06:00.0", "06:00.0", "file:4:", "busid must look like 0000:1a:00.0"},
      Case{"0000:06:00.0", "0000:07:00.0", "file:12:", "busid 0000:07:00.0 appears twice"},
      Case{"target=\"0000:07:00.0\"", "target=\"0000:17:00.0\"",
           "file:6:", "leads to '0000:17:00.0', which is no GPU or NVSwitch"},
      Case{"target=\"0000:07:00.0\"", "target=\"0000:06:00.0\"", "file:6:", "to itself"},
      Case{"count=\"1\"", "count=\"2\"", "file:4:", "2 NVLinks to 0000:07:00.0, which has 1 back"},
      Case{"count=\"1\"", "count=\"1000000000\"",
           "file:6:", "count must be a whole number from 1 to"},
      Case{"count=\"1\"", "", "file:6:", "<nvlink> has no count"},
      Case{"sm=\"70\"", "sm=\"seventy\"", "file:5:", "sm must be a whole number"},
      Case{"sm=\"70\"", "sm=\"80\"", "file:", "GPU 1 (sm 70, device 0x1db1) differs from GPU 0"},
      Case{"8.0 GT/s PCIe", "8.0 GB/s", "file:3:", "link_speed must be like '8.0 GT/s PCIe'"},
      Case{"link_width=\"16\"", "link_width=\"17\"", "file:3:", "link_width must be 1, 2, 4"},
      Case{"speed=\"100000\"", "speed=\"fast\"", "file:22:", "speed must be a whole number"},
      Case{"name=\"mlx5_0\"", "name=\"a b\"", "file:22:", "name must be letters"},
      Case{"name=\"mlx5_0\"", "name=\"mlx5_1\"", "file:43:", "no error"},
      Case{"numaid=\"1\"", "numaid=\"0\"", "file:50:", "numaid 0 appears twice"},
      Case{"affinity=\"0", "affinity=\"z", "file:2:", "affinity must be hexadecimal"},
      Case{"0x030200", "030200", "file:4:", "class must be a number like 0x"},
      Case{"<system", "<!DOCTYPE a><system", "file:1:", "document type"},
      Case{"<nvlink", "<xgmi", "file:6:", "XGMI"},
      Case{"<gpu dev=\"0\"", "text <gpu dev=\"0\"", "file:4:", "holds text"});
  CAPTURE(c.from, c.to);
  const std::string error = import_error(replaced(good, c.from, c.to));
  CHECK_THAT(error, Contains(c.message));
  if (error != "no error")
    CHECK_THAT(error, StartsWith(c.line));
}

TEST_CASE("mistakes in a topo matrix are told with their line", "[import][errors]")
{
  const std::string good = "    GPU0 GPU1 GPU2 NIC0 CPU Affinity NUMA Affinity\n"
                           "GPU0 X NV1 NV1 PIX 0-3 0\n"
                           "GPU1 NV1 X NV1 PIX 0-3 0\n"
                           "GPU2 NV1 NV1 X SYS 4-7 1\n"
                           "NIC0 PIX PIX SYS X\n";
  const ImportOptions v100{.gpu = "v100-sxm2"};
  REQUIRE(import_error(good, v100) == "no error");
  struct Case {
    const char* from;
    const char* to;
    const char* message;
  };
  const auto c = GENERATE(
      Case{"GPU1 NV1 X", "GPU1 NV2 X",
           "file:3: error: GPU0 and GPU1 are NV1 in one direction and NV2"},
      Case{"NV1 NV1 PIX", "NV1 NVx PIX", "file:2: error: cell 3 of GPU0 must be X, NV1 to NV18"},
      Case{"NV1 NV1 PIX", "NV1 NV99 PIX", "file:2: error: cell 3"},
      Case{"NV1 NV1 PIX", "NV1 PIX", "file:2: error: cell 4 of GPU0 must be"},
      Case{"PIX 0-3 0", "PIX 0-3", "file:2: error: GPU0 has 1 values after the matrix"},
      Case{"PIX 0-3 0", "PIX zero 0", "file:2: error: affinity of GPU0 must be numbers"},
      Case{"GPU2 NIC0", "GPU3 NIC0", "file:1: error: column 3 must be GPU2, got 'GPU3'"},
      Case{"NIC0 CPU", "NIC0 NIC0 CPU", "file:1: error: column 'NIC0' appears twice"},
      Case{"NUMA Affinity", "Colour", "file:1: error: column 'Colour'"},
      Case{"GPU1 NV1 X", "GPU2 NV1 X", "file:3: error: the row of GPU1 must come here"},
      Case{"NIC0 PIX PIX SYS X\n", "", "the matrix ends before the row of NIC0"},
      Case{"GPU2 NV1 NV1 X", "GPU2 NV1 NV1 PIX",
           "file:4: error: the cell of GPU2 and GPU2 must be X"},
      Case{"NIC0 PIX PIX SYS X\n", "NIC0 PIX PIX SYS X\nGPU3 SYS SYS SYS SYS X\n", "has no column"},
      Case{"NIC0 PIX PIX SYS X\n", "NIC0 PIX PIX SYS X\n GPU0 GPU1\n", "a second matrix"},
      Case{"PIX 0-3 0\nGPU1", "PIX 0-3 1\nGPU1", "but their NUMA affinity differs"});
  CAPTURE(c.from, c.to);
  CHECK_THAT(import_error(replaced(good, c.from, c.to), v100), Contains(c.message));
}

TEST_CASE("what others print of a machine is named", "[import][errors]")
{
  for (const auto& [text, what] :
       {std::pair("=== ROCm System Management Interface ===\n       GPU0  GPU1\nGPU0   0  15\n",
                  "rocm-smi's"),
        {"<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology/>",
         "hwloc's"}})
    CHECK_THROWS_WITH(import_platform(std::string(text), "file", {}),
                      Catch::Contains(what) && Catch::Contains("NCCL_TOPO_DUMP_FILE"));
}

TEST_CASE("a matrix that no tree can explain is refused", "[import][errors]")
{
  CHECK_THAT(
      import_error("\tGPU0\tGPU1\tGPU2\nGPU0\tX\tPIX\tSYS\nGPU1\tPIX\tX\tPIX\n"
                   "GPU2\tSYS\tPIX\tX\n",
                   {.gpu = "v100-pcie"}),
      Contains("file:4: error: GPU0 and GPU2 are SYS, but both are joined by NODE or nearer"));
  CHECK_THAT(import_error("\tGPU0\tGPU1\tGPU2\nGPU0\tX\tPIX\tPHB\nGPU1\tPIX\tX\tPIX\n"
                          "GPU2\tPHB\tPIX\tX\n",
                          {.gpu = "v100-pcie"}),
             Contains("GPU0 and GPU2 are PHB"));
}

TEST_CASE("too much, too deep and not at all are refused quickly", "[import][errors]")
{
  CHECK_THAT(import_error(""), Contains("is empty"));
  CHECK_THAT(import_error("hello"), Contains("is neither an NCCL topology nor"));
  CHECK_THAT(import_error("{\"format\": 1}"), Contains("needs no import"));
  CHECK_THAT(import_error(std::string(3, '\0')), Contains("zero bytes"));
  CHECK_THAT(import_error(std::string(5 << 20, ' ')), Contains("larger than 4 MiB"));
  CHECK_THAT(import_error("GPU0 GPU1000000000 CPU Affinity\n"), Contains("file:"));
  std::string many = "\t";
  for (int i = 0; i < 100000; ++i)
    many += "GPU" + std::to_string(i) + "\t";
  CHECK_THAT(import_error(many), Contains("more than the 16 GPUs"));

  std::string deep = "<system version=\"1\"><cpu numaid=\"0\">";
  for (int i = 0; i < 50000; ++i)
    deep += "<pci busid=\"0000:" + std::string(1, "0123456789abcdef"[i / 16 % 16]) +
            "0:00.0\" class=\"0x060400\">";
  CHECK_THAT(import_error(deep), Contains("not well-formed"));
  CHECK_THAT(import_error("<system version=\"1\"/>\n<system version=\"1\"/>"),
             Contains("file:2:") && Contains("holds <system> behind its first element"));
  deep = "<system version=\"1\"><cpu numaid=\"0\">";
  std::string close;
  for (int i = 0; i < 30; ++i) {
    deep += fmt::format("<pci busid=\"0000:{:02x}:00.0\" class=\"0x060400\">", i);
    close += "</pci>";
  }
  CHECK_THAT(import_error(deep + close + "</cpu></system>"), Contains("nested deeper than 16"));
  std::string gpus;
  for (int i = 0; i < 5000; ++i)
    gpus += fmt::format("<pci busid=\"{:04x}:00:00.0\" class=\"0x030200\"/>", i);
  CHECK_THAT(import_error("<system version=\"1\"><cpu numaid=\"0\">" + gpus + "</cpu></system>"),
             Contains("more than the 16 GPUs"));
  CHECK_THAT(import_error("<?xml version=\"1.0\"?><!DOCTYPE l [<!ENTITY a \"&b;&b;\"><!ENTITY b "
                          "\"xx\">]><system version=\"1\">&a;</system>"),
             Contains("document type"));
  CHECK_THAT(import_error("<system version=\"1\"><cpu numaid=\"0\"/></system>"),
             Contains("holds no GPU"));
}

TEST_CASE("options that do not fit are refused", "[import][errors]")
{
  const std::string text = fixture("c4140-k.xml");
  CHECK_THAT(import_error(text, {.gpu = "v100-sxm"}), Contains("'v100-sxm' is not a known gpu"));
  CHECK_THAT(import_error(text, {.gpu = "gtx1080"}), Contains("shows 6 NVLinks on a GPU, but a"));
  CHECK_THAT(import_error(text, {.memory = "much"}), Contains("--memory 'much'"));
  CHECK_THAT(import_error(text, {.nodes = 4}), Contains("--nodes needs --fabric"));
  CHECK_THAT(import_error(fixture("v100-pcie-4gpu.xml"), {.fabric = "sb7800-edr"}),
             Contains("no adapter that could be plugged"));
  CHECK_THAT(import_error(fixture("pcie-10gpu-bare.txt")),
             Contains("does not tell the GPU model") && Contains("--gpu"));
  CHECK_THAT(import_error(replaced(text, "familyid=\"6\"", "familyid=\"7\"")),
             Contains("no bundled CPU is near to GenuineIntel family 7") && Contains("--cpu"));
}

} // namespace foretrain::import_errors_test
