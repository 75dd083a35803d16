#include "calibration/p2p_log.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/damage.hpp"

#include <fmt/format.h>

namespace foretrain::p2p_log_test {

using namespace foretrain::calibration;
using namespace foretrain::test;
using Catch::Matchers::Contains;

namespace {

std::string matrix(const std::string& title, const std::string& corner, int n, double base)
{
  std::string text = title + (title.empty() ? "" : "\n") + "   " + corner;
  for (int i = 0; i < n; ++i)
    text += fmt::format("{:6} ", i);
  text += "\n";
  for (int i = 0; i < n; ++i) {
    text += fmt::format("{:6} ", i);
    for (int j = 0; j < n; ++j)
      text += fmt::format("{:6.2f} ", i == j ? 20 * base : base + i + 0.01 * j);
    text += "\n";
  }
  return text;
}

// The sample's output with numbers of our own.
std::string output(int n = 4)
{
  std::string text = "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n";
  for (int i = 0; i < n; ++i)
    text += fmt::format("Device: {}, Tesla V100-SXM2-16GB, pciBusID: {:x}, pciDeviceID: 0, "
                        "pciDomainID:0\n",
                        i, 0x1a + i);
  text +=
      "Device=0 CAN Access Peer Device=1\n\n***NOTE: In case a device doesn't have P2P access to "
      "other one, it falls back to normal memcopy procedure.\n\nP2P Connectivity Matrix\n     "
      "D\\D     0     1\n     0\t     1     1\n     1\t     1     1\n";
  text += matrix("Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", "D\\D", n, 10);
  text += matrix("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", "D\\D", n, 48);
  text += matrix("Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)", "D\\D", n, 17);
  text += matrix("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)", "D\\D", n, 96);
  text += matrix("P2P=Disabled Latency Matrix (us)", "GPU", n, 15) + "\n" + matrix("", "CPU", n, 7);
  text += matrix("P2P=Enabled Latency (P2P Writes) Matrix (us)", "GPU", n, 2) + "\n" +
          matrix("", "CPU", n, 3);
  return text + "\nNOTE: The CUDA Samples are not meant for performance measurements.\n";
}

std::string error_of(const std::string& text)
{
  try {
    read_p2p_test(text, "log");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

std::string replaced(std::string text, const std::string& from, const std::string& to)
{
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("all matrices of p2pBandwidthLatencyTest are read", "[p2p-log]")
{
  REQUIRE(is_p2p_test(output()));
  const auto log = read_p2p_test(output(), "log");
  CHECK(log.gpus.at(3) == "Tesla V100-SXM2-16GB");
  REQUIRE(log.matrices.size() == 8);
  const auto& writes = log.matrices[1];
  CHECK(writes.quantity == P2pMatrix::Quantity::one_way);
  CHECK(writes.peer_access);
  CHECK(writes.transfer == "Writes");
  CHECK_THAT(writes.values.at(2).at(1), test::is(50.01e9));
  CHECK(log.matrices[2].quantity == P2pMatrix::Quantity::both_ways);
  CHECK(log.matrices[5].clock == "CPU");
  CHECK_THAT(log.matrices[5].values.at(1).at(0), test::is(8e-6));
  CHECK_FALSE(log.matrices[5].peer_access);
  // Older samples have one clock only.
  const auto old = read_p2p_test(matrix("P2P=Disabled Latency Matrix (us)", "D\\D", 2, 9), "log");
  CHECK(old.matrices.at(0).clock.empty());
}

TEST_CASE("p2p matrices that would be misread are refused", "[p2p-log][errors]")
{
  const std::string good = output();
  CHECK_THAT(error_of(replaced(good, "(GB/s)", "(MB/s)")),
             Contains("log:14: error: the matrix must be in (GB/s), got '(MB/s)'"));
  CHECK_THAT(error_of(replaced(good, "  10.01 ", " ")),
             Contains("log:16: error: row 0 has 3 values, the matrix has 4 columns"));
  CHECK_THAT(error_of(replaced(good, "  11.02 ", "  fast ")), Contains("must be a number"));
  CHECK_THAT(error_of(replaced(good, "\n     1  11.00", "\n     2  11.00")),
             Contains("the matrix of line 14 ends after 1 of 4 rows"));
  CHECK_THAT(error_of(replaced(good, "Unidirectional P2P", "P2P")),
             Contains("must be Unidirectional"));
  CHECK_THAT(error_of(good.substr(0, good.find("     3  13.00"))), Contains("ends after 3 of 4"));
  CHECK_THAT(error_of(good + good),
             Contains("the line of device 4 must come here") || Contains("comes again"));
  CHECK_THAT(error_of(replaced(good, "Device: 3,", "Device 3,")), Contains("are of 3"));
  CHECK_THAT(error_of("P2P=Disabled\n"), Contains("holds no matrix"));
}

TEST_CASE("damaged p2p logs are refused or read", "[p2p-log][fuzz]")
{
  const std::string text = output();
  std::mt19937 random(5);
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string input = damaged(text, random);
    if (i % 3 == 0)
      input = damaged(input, random);
    (error_of(input) == "no error" ? accepted : refused) += 1;
  }
  for (std::size_t length = 0; length < text.size(); length += 5)
    (error_of(text.substr(0, length)) == "no error" ? accepted : refused) += 1;
  CAPTURE(accepted, refused);
  CHECK(accepted > 0);
  CHECK(refused > 500);
}

} // namespace foretrain::p2p_log_test
