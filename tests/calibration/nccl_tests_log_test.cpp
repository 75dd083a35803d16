#include "tests/calibration/nccl_tests_support.hpp"
#include "tests/support/catch.hpp"

#include <set>

namespace foretrain::nccl_tests_log_test {

using namespace foretrain::calibration;
using namespace foretrain::test;
using Catch::Matchers::Contains;

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to)
{
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE("all shapes of nccl-tests output read the same", "[nccl-tests]")
{
  NcclText shape;
  const int variant = GENERATE(range(0, 9));
  CAPTURE(variant);
  shape.root = variant >= 3;
  shape.iterations = variant == 4;
  shape.hash = variant != 5;
  shape.redop = variant != 1;
  shape.blank_redop = variant == 2 || variant == 6;
  shape.json = variant == 7;
  shape.hosts = variant == 8 ? 2 : 1;
  const std::string text = nccl_text(shape);
  REQUIRE(is_nccl_tests(text));
  const auto log = read_nccl_tests(text, "log");
  CHECK(log.collective == "all_reduce");
  CHECK(log.ranks_per_communicator() == 4);
  CHECK(log.nodes() == shape.hosts);
  CHECK(log.ranks.at(2).gpu == "Tesla V100-SXM2-16GB");
  CHECK(log.complete);
  CHECK(log.notes.empty());
  REQUIRE(log.rows.size() == 8);
  const auto& last = log.rows.back();
  CHECK(last.size.value() == 16777216);
  CHECK(last.count == 4194304);
  CHECK(last.type == "float");
  CHECK(last.operation == (shape.redop && !shape.blank_redop ? "sum" : ""));
  CHECK(last.root == -1);
  CHECK(last.out_of_place.time.value() == Approx(time_us(16777216) * 1e-6).epsilon(1e-3));
  CHECK(last.out_of_place.algorithm_bandwidth.value() ==
        Approx(16777216 / time_us(16777216) * 1e6).epsilon(1e-3));
  REQUIRE(last.in_place);
  CHECK(last.in_place->bus_bandwidth.value() ==
        Approx(1.5 * last.out_of_place.algorithm_bandwidth.value()).epsilon(1e-3));
  CHECK(last.out_of_place.wrong.has_value() == shape.root);
  CHECK((shape.json || text.find("4194304") != std::string::npos));
  if (!shape.json)
    CHECK(last.line == 20);
}

TEST_CASE("logs between other output are found", "[nccl-tests]")
{
  std::string text = nccl_text({.root = true});
  text = replaced(text, "          64",
                  "node0:4000:4100 [0] NCCL INFO Channel 00 : 0 1 2 3\n          64");
  CHECK(read_nccl_tests(text, "log").rows.size() == 8);
}

TEST_CASE("labels that launchers put before lines are no part of a log", "[nccl-tests]")
{
  const std::string text = nccl_text({.root = true});
  for (const std::string label :
       {"[1,0]<stdout>:", "[prterun-launcher-1@1,0]<stdout>: ", " 0: ", "12: ", "node0: ",
        "worker-0.tests.svc:\t", "[pod/nccl-test-launcher-x7k2/launcher] ",
        "2026-01-31T12:00:00.123456789Z ", "2026-01-31T12:00:00Z [pod/a/b] "}) {
    CAPTURE(label);
    std::string tagged = "mpirun: a warning of the launcher's own\r\n";
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = text.find('\n', start);
      tagged += label + text.substr(start, end - start) + "\r\n";
      start = end + 1;
    }
    const NcclTestsLog log = read_nccl_tests_all(tagged, "log").at(0);
    CHECK(log.rows.size() == 8);
    CHECK(log.ranks.size() == read_nccl_tests(text, "log").ranks.size());
    CHECK(log.collective == "all_reduce");
  }
}

TEST_CASE("bandwidths of other collectives follow their factors", "[nccl-tests]")
{
  const auto program = GENERATE("all_gather_perf", "reduce_scatter_perf", "alltoall_perf",
                                "broadcast_perf", "reduce_perf", "sendrecv_perf");
  CAPTURE(program);
  CHECK(nccl_error(nccl_text({.root = true, .program = program})) == "no error");
  // The same rows under another name are refused where the factors differ.
  const std::string text =
      replaced(nccl_text({.root = true, .program = program}), program, "all_reduce_perf");
  CHECK_THAT(nccl_error(text), Contains("is not algbw") && Contains("factor of all_reduce"));
}

TEST_CASE("all_gather of old versions, whose algbw is the bus bandwidth", "[nccl-tests]")
{
  const std::string text = "# ./all_gather_perf\n"
                           "#   Rank  0 Pid 1 on a device  0 [0x1a] V\n"
                           "#   Rank  1 Pid 2 on a device  1 [0x1b] V\n"
                           "# size count type time algbw busbw error\n"
                           "# (B) (elements) (us) (GB/s) (GB/s)\n"
                           "1048576 131072 float 100.0 5.24 5.24 0e+00\n";
  const auto log = read_nccl_tests(text, "log");
  CHECK_THAT(log.notes.at(0), Contains("until 2020"));
  CHECK_FALSE(log.rows.at(0).in_place);
  CHECK_THAT(nccl_error(replaced(text, "all_gather", "all_reduce")), Contains("log:6: error:"));
}

TEST_CASE("what would be misread is refused with its line", "[nccl-tests][errors]")
{
  const std::string good = nccl_text({.root = true});
  struct Case {
    const char* from;
    const char* to;
    const char* message;
  };
  const auto c = GENERATE(
      Case{"(B) ", "(MB) ", "log:12: error: units must be (B) (elements) (us) (GB/s) (GB/s)"},
      Case{"(us)", "(ms)", "log:12: error: units must be"},
      Case{"(GB/s)", "(Gb/s)", "log:12: error: units must be"},
      Case{"   algbw", "   algrate", "log:11: error: column 'algrate'"},
      Case{"   busbw #wrong", "", "log:11: error: columns must be time, algbw"},
      Case{"    4194304     float", "    4194304   f128", "type 'f128' is not one"},
      Case{"    4194304     float", "    4194305     float", "are not 16777216 bytes"},
      Case{"16777216       4194304", "16M       4194304", "size must be a whole number"},
      Case{"Rank  1", "Rank  0", "rank 0 appears twice"},
      Case{"on      node0", "from node0", "must give its host"},
      Case{"Avg bus bandwidth    : ", "Avg bus bandwidth    : about ", "must be one number"});
  CAPTURE(c.from, c.to);
  CHECK_THAT(nccl_error(replaced(good, c.from, c.to)), Contains(c.message));
}

TEST_CASE("numbers that contradict each other are refused", "[nccl-tests][errors]")
{
  const std::string head = "# ./all_reduce_perf\n#   Rank  0 Pid 1 on a device  0 [0x1a] V\n"
                           "#   Rank  1 Pid 2 on a device  1 [0x1b] V\n"
                           "# size count type redop root time algbw busbw #wrong\n"
                           "# (B) (elements) (us) (GB/s) (GB/s)\n";
  CHECK(nccl_error(head + "1000000 250000 float sum -1 100.0 10.00 10.00 0\n") == "no error");
  CHECK_THAT(nccl_error(head + "1000000 250000 float sum -1 100.0 9.54 9.54 0\n"), // MiB for MB
             Contains("log:6: error: 1000000 bytes in 100 us are 10 GB/s, but algbw says 9.54"));
  CHECK_THAT(nccl_error(head + "1000000 250000 float sum -1 100.0 80.00 80.00 0\n"), // Gb for GB
             Contains("algbw says 80"));
  CHECK_THAT(nccl_error(head + "1000000 250000 float sum -1 0.1 10.00 10.00 0\n"), // ms
             Contains("are 1e+04 GB/s"));
  CHECK_THAT(nccl_error(head + "1000000 250000 float sum -1 100.0 10.00 15.00 0\n"),
             Contains("busbw 15 is not algbw 10 x 1"));
  CHECK_THAT(nccl_error(head + "1000000 250000 float sum -1 100.0 10.00\n"),
             Contains("log:6: error: the row has 7 values") && Contains("cut off"));
  CHECK_THAT(nccl_error(head + "1000000 250000 float sum -1 nan 10.00 10.00 0\n"),
             Contains("time must be a number, got 'nan'"));
  CHECK_THAT(nccl_error(head), Contains("holds no row"));
  CHECK_THAT(nccl_error(head + head), Contains("log:7: error: a rank is listed after"));
  CHECK_THAT(nccl_error("# size count type redop root time algbw busbw #wrong\n"),
             Contains("units"));
  CHECK_THAT(nccl_error(head + head.substr(head.find("# size"))),
             Contains("log:6: error: a second test begins here"));
  CHECK_THAT(nccl_error("nothing"), Contains("holds no header"));
}

TEST_CASE("communicators of a log are of as many ranks, or of none that one could name",
          "[nccl-tests]")
{
  const auto ranks = [](const std::vector<int>& groups) {
    NcclTestsLog log;
    for (const int group : groups) {
      log.ranks.emplace_back();
      log.ranks.back().group = group;
      log.ranks.back().host = "node" + std::to_string(group);
    }
    CHECK(log.nodes() == static_cast<int>(std::set<int>(groups.begin(), groups.end()).size()));
    return log.ranks_per_communicator();
  };
  CHECK(ranks({}) == 0);
  CHECK(ranks({0, 0, 0}) == 3);
  CHECK(ranks({0, 1, 0, 1}) == 2);
  CHECK(ranks({0, 0, 1}) == 0);
}

TEST_CASE("what is odd but true is noted", "[nccl-tests]")
{
  const std::string good = nccl_text({.root = true});
  const auto notes = [](const std::string& text) {
    std::string all;
    for (const auto& note : read_nccl_tests(text, "log").notes)
      all += note + "\n";
    return all;
  };
  const std::size_t row = good.rfind("    16777216");
  const std::size_t end = good.find('\n', row);
  std::string wrong = good;
  wrong.replace(end - 1, 1, "7");
  CHECK_THAT(notes(wrong), Contains("1 of 16 timings are of runs with wrong results"));
  CHECK_THAT(notes(good.substr(0, end + 1)), Contains("ends before the average"));
  CHECK_FALSE(read_nccl_tests(good.substr(0, end + 1), "log").complete);
  CHECK_THAT(notes(good.substr(0, row) + good.substr(end + 1)), Contains("rows are missing"));
}

TEST_CASE("mistakes in the JSON are told with their place", "[nccl-tests][errors]")
{
  const std::string good = nccl_text({.json = true});
  REQUIRE(nccl_error(good) == "no error");
  CHECK_THAT(nccl_error(replaced(good, "\"version\":2", "\"version\":7")),
             Contains("log:1:") && Contains("/version must be 1 or 2"));
  CHECK_THAT(nccl_error(replaced(good, "\"alg_bw\"", "\"alg\"")),
             Contains("/results/0/out_of_place/alg_bw is missing"));
  CHECK_THAT(nccl_error(replaced(good, "\"size\":16777216", "\"size\":\"16M\"")),
             Contains("/results/7/size must be a whole number, got \"16M\""));
  CHECK_THAT(nccl_error(replaced(good, "\"size\":16777216", "\"size\":8388608")),
             Contains("/results/7"));
  CHECK_THAT(nccl_error(replaced(good, "\"rank\":1", "\"rank\":0")), Contains("appears twice"));
  CHECK_THAT(nccl_error(good.substr(0, good.size() / 2)), Contains("log:"));
}

} // namespace foretrain::nccl_tests_log_test
