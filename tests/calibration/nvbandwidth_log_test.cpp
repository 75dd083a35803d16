#include "calibration/nvbandwidth_log.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fuzzing.hpp"

namespace foretrain::nvbandwidth_log_test {

using namespace foretrain::calibration;
using namespace foretrain::test;
using Catch::Matchers::Contains;

namespace {

// The tool's output with numbers of our own.
const std::string kLog =
    "nvbandwidth Version: v0.5\nBuilt from Git version: v0.5\n\nNOTE: This tool reports current "
    "measured bandwidth on your system.\n\nCUDA Runtime Version: 12050\nDriver Version: "
    "555.42.02\n\n"
    "Device 0: NVIDIA H100 80GB HBM3 (00000000:18:00)\n"
    "Device 1: NVIDIA H100 80GB HBM3 (00000000:2A:00)\n\n"
    "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
    "           0         1\n 0     55.63     55.64\n\nSUM host_to_device_memcpy_ce 111.27\n\n"
    "Running device_to_device_memcpy_read_ce.\n"
    "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n"
    "           0         1\n 0       N/A    361.10\n 1    362.20       N/A\n\n"
    "SUM device_to_device_memcpy_read_ce 723.3\n\n"
    "Running device_to_device_memcpy_write_ce.\n"
    "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
    "           0         1\n 0       N/A    391.50\n 1    392.50       N/A\n\n"
    "Running device_to_device_memcpy_read_sm.\nmemcpy SM GPU(row) -> GPU(column) bandwidth (GB/s)\n"
    "           0         1\n 0       N/A    300.00\n 1    300.00       N/A\n";

// The same as JSON, in the form of the tool's json_output.cpp; a test that could not run has no
// matrix.
const std::string kJson = R"json({"nvbandwidth": {
  "CUDA Runtime Version": 12050, "Driver Version": "555.42.02", "git_version": "v0.5",
  "testcases": [
    {"name": "host_to_device_memcpy_ce", "status": "Passed", "sum": 111.27,
     "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
     "bandwidth_matrix": [["55.63", "55.64"]]},
    {"name": "device_to_device_memcpy_write_sm", "status": "Waived"},
    {"name": "device_to_device_memcpy_read_ce", "status": "Passed", "sum": 723.3,
     "bandwidth_description": "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)",
     "bandwidth_matrix": [["N/A", "361.1"], ["362.2", "N/A"]]},
    {"name": "device_to_device_memcpy_write_ce", "status": "Passed", "sum": 784,
     "bandwidth_description": "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
     "bandwidth_matrix": [["N/A", "391.5"], ["392.5", "N/A"]]}],
  "version": "v0.5"}})json";

std::string nvbandwidth_problem(const std::string& text)
{
  try {
    read_nvbandwidth(text, "log");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

std::string with(const std::string& from, const std::string& to)
{
  std::string text = kLog;
  return text.replace(text.find(from), from.size(), to);
}

} // namespace

TEST_CASE("nvbandwidth's copies between GPUs are read, others passed over", "[nvbandwidth]")
{
  const P2pLog log = read_nvbandwidth(kLog, "log");
  REQUIRE(log.gpus.size() == 2);
  CHECK(log.gpus[0] == "NVIDIA H100 80GB HBM3");
  REQUIRE(log.matrices.size() == 2);
  CHECK(log.matrices[0].transfer == "Reads");
  CHECK(log.matrices[0].peer_access);
  CHECK(log.matrices[0].quantity == P2pMatrix::Quantity::one_way);
  CHECK(log.matrices[0].values[1][0] == 361.1e9); // GPU 0 reads from GPU 1
  CHECK(log.matrices[0].values[0][1] == 362.2e9);
  CHECK(log.matrices[0].values[0][0] == 0); // not measured
  CHECK(log.matrices[1].transfer == "Writes");
  CHECK(log.matrices[1].values[0][1] == 391.5e9);
  CHECK(is_nvbandwidth(kLog));
  CHECK(!is_nvbandwidth("P2P=Disabled"));
}

TEST_CASE("nvbandwidth logs that do not fit are refused with the place", "[nvbandwidth]")
{
  CHECK_THAT(nvbandwidth_problem("nvbandwidth Version: v0.5\n"), Contains("no matrix of copies"));
  CHECK_THAT(nvbandwidth_problem(with("361.10", "fast")), Contains("must be N/A or a number"));
  CHECK_THAT(nvbandwidth_problem(with(" 1    362.20       N/A\n", "")),
             Contains("ends after 1 of 2 rows"));
  CHECK_THAT(nvbandwidth_problem(with("Device 1: NVIDIA H100 80GB HBM3 (00000000:2A:00)\n", "")),
             Contains("the list of devices are of 1"));
  CHECK_THAT(nvbandwidth_problem(kLog + kLog), Contains("several runs are mixed"));
}

TEST_CASE("nvbandwidth's JSON tells what its text does", "[nvbandwidth]")
{
  CHECK(is_nvbandwidth(kJson));
  const P2pLog text = read_nvbandwidth(kLog, "log");
  const P2pLog json = read_nvbandwidth(kJson, "log");
  REQUIRE(json.matrices.size() == 2);
  for (const std::size_t i : {0U, 1U}) {
    CHECK(json.matrices[i].transfer == text.matrices[i].transfer);
    CHECK(json.matrices[i].peer_access);
    CHECK(json.matrices[i].values == text.matrices[i].values);
  }
}

TEST_CASE("nvbandwidth's JSON is refused where it contradicts itself", "[nvbandwidth]")
{
  const auto problem = [](const std::string& from, const std::string& to) {
    std::string text = kJson;
    return nvbandwidth_problem(text.replace(text.find(from), from.size(), to));
  };
  CHECK_THAT(problem("\"361.1\"", "\"461.1\""), Contains("adds up to 823.3"));
  CHECK_THAT(problem("\"361.1\"", "\"fast\""), Contains("must be \"N/A\" or a number"));
  CHECK_THAT(problem("[\"N/A\", \"361.1\"]", "[\"N/A\"]"), Contains("a list of 2 cells"));
  CHECK_THAT(problem("_write_ce", "_read_ce"), Contains("several runs are mixed"));
  CHECK_THAT(problem("GPU(row) <- GPU(column) bandwidth (GB/s)", "bandwidth"),
             Contains("must be in (GB/s)"));
  CHECK_THAT(nvbandwidth_problem("{\"nvbandwidth\": {\"testcases\": []}}"),
             Contains("no matrix of copies"));
}

TEST_CASE("damaged nvbandwidth logs are refused or read", "[nvbandwidth][fuzz]")
{
  for (const std::string& log : {kLog, kJson}) {
    Damage damage;
    const int runs = fuzz_runs(3000);
    int read_anyway = 0;
    for (int i = 0; i < runs; ++i)
      try {
        read_nvbandwidth(damage.to(log), "log");
        ++read_anyway;
      } catch (const ConfigError&) {
      }
    CHECK(read_anyway > 0);
    CHECK(read_anyway < runs);
  }
}

} // namespace foretrain::nvbandwidth_log_test
