#include "realrun/common/machine.hpp"
#include "realrun/tools/iperf3.hpp"
#include "sim/base/error.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace foretrain;
using namespace foretrain::realrun;

namespace {

struct File {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("realrun_iperf3_test." + std::to_string(::getpid()));
  explicit File(const std::string& text) { std::ofstream(path) << text; }
  ~File() { std::filesystem::remove(path); }
};

const char* kComplete = R"({"start": {"tcp_mss_default": 1448}, "end": {
  "sum_sent": {"retransmits": 3},
  "sum_received": {"seconds": 2.0, "bytes": 250000000, "bits_per_second": 1e9},
  "cpu_utilization_percent": {"host_total": 12.5, "remote_total": 50.0}}})";

} // namespace

TEST_CASE("an iperf3 result is read with its units")
{
  const File file(kComplete);
  const Iperf3Result result = read_iperf3(file.path);
  CHECK(result.bytes == 250000000);
  CHECK(result.bits_per_second == 1e9);
  CHECK(result.mss == 1448);
  CHECK(result.retransmits == 3);
  CHECK(result.client_cpu_fraction == 0.125);
  CHECK(result.server_cpu_fraction == 0.5);
}

TEST_CASE("a packet size that was asked for is found under its other name")
{
  std::string text = kComplete;
  text.replace(text.find("tcp_mss_default"), 15, "tcp_mss");
  text.replace(text.find("1448"), 4, "536");
  const File file(text);
  CHECK(read_iperf3(file.path).mss == 536);
}

TEST_CASE("an iperf3 result that failed or was cut off is refused")
{
  const File failed(R"({"error": "unable to connect"})");
  CHECK_THROWS_WITH(read_iperf3(failed.path), Catch::Contains("unable to connect"));
  const File cut(R"({"start": {"tcp_mss_default": 1448}, "end": {}})");
  CHECK_THROWS_WITH(read_iperf3(cut.path), Catch::Contains("sum_received"));
}

TEST_CASE("/proc/stat is read in seconds")
{
  const File file("cpu  100 100 300 4000 1000 10 20 5 0 0\n");
  const MachineCpu cpu = read_machine_cpu(file.path.string());
  const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  CHECK(cpu.user == Approx(200 * tick));
  CHECK(cpu.busy() == Approx(530 * tick));
  CHECK(cpu.softirq == Approx(20 * tick));
}
