#include "calibration/nccl_tests_log.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::nccl_tests_forms_test {

using namespace foretrain::calibration;

namespace {

// Two ranks, two sizes: 1 MiB in 100 us are 10.49 GB/s.
std::string plain(const std::string& program)
{
  const double factor = program == "all_gather_perf" ? 0.5 : 1.0;
  const std::string bus = factor == 0.5 ? " 5.24" : "10.49";
  return "# nThread 1 nGpus 2 minBytes 1048576 maxBytes 1048576 step: 2(factor)\n"
         "# Using devices\n"
         "#  Rank  0 Group  0 Pid   1 on nodeA device  0 [0x00] Tesla V100-SXM2-16GB\n"
         "#  Rank  1 Group  0 Pid   1 on nodeA device  1 [0x00] Tesla V100-SXM2-16GB\n"
         "#   size   count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw "
         "#wrong\n"
         "#    (B)  (elements)  (us)  (GB/s)  (GB/s)  (us)  (GB/s)  (GB/s)\n"
         "   1048576  262144  float  sum  -1  100.0  10.49  " +
         bus + "  0  100.0  10.49  " + bus +
         "  0\n"
         "# Out of bounds values : 0 OK\n"
         "# Avg bus bandwidth    : " +
         (factor == 0.5 ? "5.24" : "10.49") + "\n#\n";
}

std::string before_each_line(const std::string& text, const std::string& label)
{
  std::string out = label;
  for (const char c : text) {
    out += c;
    if (c == '\n')
      out += label;
  }
  return out;
}

void check_one(const std::string& text)
{
  const auto logs = read_nccl_tests_all(text, "log");
  REQUIRE(logs.size() == 1);
  CHECK(logs[0].rows.size() == 1);
  CHECK(logs[0].ranks_per_communicator() == 2);
  CHECK(logs[0].gpus_per_thread == 2);
  CHECK_THAT(logs[0].rows[0].out_of_place.time.value(), test::is(100e-6));
}

} // namespace

TEST_CASE("a log is read as it came, behind labels and in Markdown", "[nccl-tests][forms]")
{
  const std::string log = plain("all_reduce_perf");
  check_one(log);
  check_one(before_each_line(log, "0: "));
  check_one(before_each_line(log, "[1,0]<stdout>:"));
  check_one("# Results\nWe ran all_reduce_perf:\n\n```\n" + log + "```\n\nand were content.\n");
  check_one("> quoted\n" + before_each_line(log, "> "));
}

TEST_CASE("several programs in one file are read one after the other", "[nccl-tests][forms]")
{
  const auto logs = read_nccl_tests_all("$ ./all_reduce_perf -g 2\n" + plain("all_reduce_perf") +
                                            "$ ./all_gather_perf -g 2\n" + plain("all_gather_perf"),
                                        "log");
  REQUIRE(logs.size() == 2);
  CHECK(logs[0].collective == "all_reduce");
  CHECK(logs[1].collective == "all_gather");
  CHECK(logs[1].rows[0].line > logs[0].rows[0].line); // lines keep their numbers
}

TEST_CASE("a row that contradicts itself is refused with its line in the file",
          "[nccl-tests][forms]")
{
  std::string text = "$ ./all_reduce_perf\n" + plain("all_reduce_perf") + "$ ./all_reduce_perf\n" +
                     plain("all_reduce_perf");
  const auto at = text.rfind("1048576  262144");
  text.replace(at, 7, "2097152");
  try {
    read_nccl_tests_all(text, "log");
    FAIL("read");
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()).find("log:19") != std::string::npos);
  }
}

} // namespace foretrain::nccl_tests_forms_test
