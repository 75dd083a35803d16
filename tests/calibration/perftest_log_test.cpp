#include "calibration/perftest_log.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fuzzing.hpp"

namespace foretrain::perftest_log_test {

using namespace foretrain::calibration;
using namespace foretrain::test;
using Catch::Matchers::Contains;

namespace {

// The tool's output with numbers of our own.
const std::string kPerftest =
    "---------------------------------------------------------------------------------------\n"
    "                    RDMA_Write BW Test\n"
    " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
    " Number of qps   : 1\t\tTransport type : IB\n"
    " Mtu             : 4096[B]\n Link type       : IB\n"
    " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    " 65536      5000             11600.00           11500.00             0.184000\n"
    " 1048576    5000             11700.00           11650.50             0.011650\n"
    "---------------------------------------------------------------------------------------\n";

std::string changed(const std::string& from, const std::string& to)
{
  std::string text = kPerftest;
  return text.replace(text.find(from), from.size(), to);
}

std::string perftest_problem(const std::string& text)
{
  try {
    read_perftest(text, "log");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

} // namespace

TEST_CASE("perftest's average is read in its units", "[perftest]")
{
  REQUIRE(is_perftest(kPerftest));
  const PerftestLog log = read_perftest(kPerftest, "log");
  CHECK(log.test == "RDMA_Write BW Test");
  CHECK(log.link == "IB");
  CHECK(log.mtu == Bytes(4096));
  REQUIRE(log.rows.size() == 2);
  CHECK(log.rows[1].size == Bytes(1048576));
  CHECK(log.rows[1].average.value() == Approx(11650.5 * 1048576));
  const PerftestLog gigabits =
      read_perftest("#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n"
                    "65536 5000 97.31 96.47 0.184002\n"
                    "131072 5000 0.00 97.00 0.000000\n", // with -D neither is told
                    "log");
  CHECK(gigabits.rows[0].average.value() == Approx(96.47 * 1.25e8));
  CHECK(gigabits.rows[1].average.value() == Approx(97.0 * 1.25e8));
}

TEST_CASE("a row of perftest whose figures say different things is refused", "[perftest]")
{
  for (const std::string& other : {changed("11650.50", "11900.00"), // above its peak
                                   changed("0.011650", "0.012000"), // 3 % more messages
                                   changed("0.011650", "0.011300"), // and fewer
                                   changed("BW average[MB/sec]", "BW average[Gb/sec]")})
    CHECK_THAT(perftest_problem(other), Contains("above the peak, or not that of the messages"));
  CHECK(perftest_problem(changed("0.011650", "0.011740")) == "no error"); // rounded
}

TEST_CASE("perftest logs that do not fit are refused with the place", "[perftest]")
{
  CHECK_THAT(perftest_problem(changed("RDMA_Write BW", "RDMA_Write Bidirectional BW")),
             Contains("both directions"));
  CHECK_THAT(perftest_problem(changed("BW average[MB/sec]", "BW average[KB]")),
             Contains("[MB/sec] or [Gb/sec]"));
  CHECK_THAT(perftest_problem(changed("11650.50", "much")), Contains("a row must be bytes"));
  CHECK_THAT(perftest_problem(changed(" 1048576 ", " 65536 ")), Contains("several runs are mixed"));
  CHECK_THAT(perftest_problem(changed("4096[B]", "0[B]")), Contains("Mtu must be"));
  CHECK_THAT(perftest_problem("#bytes BW average[MB/sec]\n"), Contains("holds no row"));
}

TEST_CASE("damaged perftest logs are refused or read", "[perftest][fuzz]")
{
  Damage damage;
  const int runs = fuzz_runs(3000);
  int read_anyway = 0;
  for (int i = 0; i < runs; ++i)
    try {
      read_perftest(damage.to(kPerftest), "log");
      ++read_anyway;
    } catch (const ConfigError&) {
    }
  CHECK(read_anyway > 0);
  CHECK(read_anyway < runs);
}

} // namespace foretrain::perftest_log_test
