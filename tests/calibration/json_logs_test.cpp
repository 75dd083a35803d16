// iperf3 and fio, whose logs are JSON.
#include "calibration/fio_log.hpp"
#include "calibration/iperf3_log.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/damage.hpp"

namespace foretrain::json_logs_test {

using namespace foretrain::calibration;
using namespace foretrain::test;
using Catch::Matchers::Contains;

namespace {

const std::string kTcp = R"({
  "start": {
    "version": "iperf 3.12",
    "connecting_to": { "host": "10.0.0.2", "port": 5201 },
    "test_start": { "protocol": "TCP", "num_streams": 2, "duration": 2, "reverse": 0 }
  },
  "intervals": [
    { "streams": [], "sum": { "start": 0, "end": 1, "seconds": 1.0, "bytes": 1000000000,
                              "bits_per_second": 8000000000, "omitted": true } },
    { "streams": [], "sum": { "start": 1, "end": 2, "seconds": 1.0, "bytes": 1175000000,
                              "bits_per_second": 9400000000, "omitted": false } }
  ],
  "end": {
    "sum_sent": { "seconds": 2.0, "bytes": 2180000000, "bits_per_second": 8720000000,
                  "retransmits": 12 },
    "sum_received": { "seconds": 2.0, "bytes": 2175000000, "bits_per_second": 8700000000 },
    "cpu_utilization_percent": { "host_total": 31.5, "remote_total": 62.25 }
  }
})";

const std::string kUdp = R"({
  "start": { "connecting_to": { "host": "b" },
             "test_start": { "protocol": "UDP", "num_streams": 1, "reverse": 1 } },
  "intervals": [],
  "end": {
    "sum": { "seconds": 4.0, "bytes": 500000000, "bits_per_second": 1000000000, "jitter_ms": 0.01,
             "lost_packets": 10, "packets": 100, "lost_percent": 10 },
    "cpu_utilization_percent": { "host_total": 1, "remote_total": 2 }
  }
})";

const std::string kFio = R"({
  "fio version" : "fio-3.33",
  "timestamp" : 1700000000,
  "global options" : { "rw" : "randread", "bs" : "4k", "ioengine" : "libaio" },
  "jobs" : [ {
    "jobname" : "cold",
    "error" : 0,
    "job options" : { "bs" : "128k" },
    "read" : { "io_bytes" : 2621440000, "bw_bytes" : 262144000, "bw" : 256000, "iops" : 2000.0,
               "runtime" : 10000, "total_ios" : 20000,
               "lat_ns" : { "min" : 1000, "mean" : 498000.5 } },
    "write" : { "io_bytes" : 0, "bw_bytes" : 0, "bw" : 0, "iops" : 0.0, "runtime" : 0,
                "total_ios" : 0, "lat_ns" : { "mean" : 0.0 } }
  } ]
})";

std::string replaced(std::string text, const std::string& from, const std::string& to)
{
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

template <class Read>
std::string error_of(const Read& read, const std::string& text)
{
  try {
    read(text, "log");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

template <class Read>
void fuzz(const Read& read, const std::string& text)
{
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 1500; ++i) {
    const std::string once = damaged(text, random);
    refused += error_of(read, i % 3 == 0 ? damaged(once, random) : once) != "no error" ? 1 : 0;
  }
  for (std::size_t length = 0; length + 1 < text.size(); length += 3)
    CHECK(error_of(read, text.substr(0, length)) != "no error");
  CHECK(refused > 500);
  CHECK(refused < 1500);
}

} // namespace

TEST_CASE("a run of iperf3 that failed says so", "[iperf3-log]")
{
  const std::string failed = R"({ "start": {}, "intervals": [], "end": {},
    "error": "error - unable to connect to server: Connection refused" })";
  CHECK(is_iperf3(failed));
  CHECK_THAT(error_of(&read_iperf3_log, failed), Contains("Connection refused"));
}

TEST_CASE("no more operations of fio are in flight than its queues hold", "[fio-log][closed-form]")
{
  const auto problem = [](const char* depth, const char* latency) {
    const std::string queued = replaced(
        kFio, "\"128k\"", fmt::format(R"("128k", "iodepth" : "{}", "numjobs" : "2")", depth));
    return error_of(&read_fio, replaced(queued, "498000.5", latency));
  };
  CHECK(problem("1", "498000.5") == "no error");
  CHECK(problem("16", "16000000") == "no error"); // 32 of 32
  CHECK_THAT(problem("16", "21000000"),
             Contains("/jobs/0 has 42 operations in flight") && Contains("queues of 32"));
  CHECK(error_of(&read_fio, replaced(kFio, "498000.5", "21000000")) == "no error"); // not told
}

TEST_CASE("jobs of fio that run together are one, through the cache unless they say direct",
          "[fio-log][closed-form]")
{
  const std::size_t begin = kFio.find("{\n    \"jobname\""), end = kFio.find(" ]\n}");
  const std::string cold = kFio.substr(begin, end - begin);
  const auto of_group = [&](const char* group, const char* direct) {
    return replaced(replaced(cold, "\"error\"", fmt::format(R"("groupid" : {}, "error")", group)),
                    "\"128k\"", fmt::format(R"("128k", "direct" : "{}", "numjobs" : "2")", direct));
  };
  const auto log = [&](const std::string& jobs) {
    return read_fio(kFio.substr(0, begin) + jobs + kFio.substr(end), "log");
  };
  const FioJob alone = log(cold).jobs.at(0);
  CHECK(alone.cached);
  const FioLog apart = log(of_group("0", "1") + "," + of_group("1", "1"));
  REQUIRE(apart.jobs.size() == 2);
  CHECK_FALSE(apart.jobs.at(1).cached);
  CHECK(apart.jobs.at(1).read->rate == alone.read->rate);
  const FioLog together = log(of_group("0", "1") + "," + of_group("0", "1"));
  REQUIRE(together.jobs.size() == 1);
  const FioJob& job = together.jobs.front();
  CHECK_FALSE(job.cached);
  CHECK(job.depth == 2);
  CHECK_FALSE(job.write);
  CHECK(job.read->rate == 2 * alone.read->rate);
  CHECK(job.read->bytes == 2 * alone.read->bytes);
  CHECK(job.read->operations == 2 * alone.read->operations);
  CHECK(job.read->runtime == alone.read->runtime);
  CHECK_THAT(job.read->mean_latency.value(), test::is(alone.read->mean_latency.value()));
  CHECK(log(of_group("0", "1") + "," + of_group("0", "0")).jobs.front().cached);
}

TEST_CASE("iperf3 over TCP and UDP", "[iperf3-log]")
{
  REQUIRE(is_iperf3(kTcp));
  const auto tcp = read_iperf3_log(kTcp, "log");
  CHECK(tcp.host == "10.0.0.2");
  CHECK(tcp.streams == 2);
  CHECK_FALSE(tcp.reverse);
  CHECK_THAT(tcp.rate.value(), test::is(1.0875e9));
  CHECK(tcp.retransmits == 12);
  CHECK_THAT(tcp.server_cpu, test::is(0.6225));
  CHECK(tcp.interval == std::vector<double>{1.175e9}); // the warm-up is left out
  const auto udp = read_iperf3_log(kUdp, "log");
  CHECK(udp.reverse);
  CHECK_THAT(udp.rate.value(), test::is(1.125e8));
  CHECK_THAT(udp.lost_fraction, test::is(0.1));
}

TEST_CASE("iperf3 logs that would be misread are refused", "[iperf3-log][errors]")
{
  CHECK_THAT(error_of(read_iperf3_log, replaced(kTcp, "8700000000", "8700")),
             Contains("log:16:") && Contains("bits_per_second must be 8 x bytes / seconds"));
  CHECK_THAT(error_of(read_iperf3_log, replaced(kTcp, "\"sum_received\"", "\"sum_reached\"")),
             Contains("sum_received is missing"));
  CHECK_THAT(error_of(read_iperf3_log, "{\"error\": \"unable to connect\"}"),
             Contains("iperf3 failed: unable to connect"));
  CHECK_THAT(error_of(read_iperf3_log, replaced(kTcp, "\"TCP\"", "\"SCTP\"")),
             Contains("must be TCP or UDP"));
  CHECK_THAT(error_of(read_iperf3_log, replaced(kTcp, "connecting_to", "accepted")),
             Contains("give the client's"));
  CHECK_THAT(
      error_of(read_iperf3_log, replaced(kUdp, "\"reverse\": 1", "\"reverse\": 1, \"bidir\": 1")),
      Contains("--bidir"));
}

TEST_CASE("fio jobs", "[fio-log]")
{
  REQUIRE(is_fio(kFio));
  for (const std::string& text : {kFio, "fio: this platform is slow\n" + kFio}) {
    const auto log = read_fio(text, "log");
    REQUIRE(log.jobs.size() == 1);
    const auto& job = log.jobs[0];
    CHECK(job.name == "cold");
    CHECK(job.pattern == "randread"); // global
    CHECK(job.block_size == "128k");  // of the job, over the global one
    CHECK_FALSE(job.write);
    REQUIRE(job.read);
    CHECK_THAT(job.read->rate.value(), test::is(262144000));
    CHECK_THAT(job.read->operations.value(), test::is(2000));
    CHECK_THAT(job.read->mean_latency.value(), test::is(498000.5e-9));
  }
}

TEST_CASE("fio logs that would be misread are refused", "[fio-log][errors]")
{
  CHECK_THAT(error_of(read_fio, replaced(kFio, "\"bw\" : 256000", "\"bw\" : 262144")),
             Contains("log:9:") && Contains("must be bw_bytes / 1024"));
  CHECK_THAT(error_of(read_fio, replaced(kFio, "2621440000", "2621440")),
             Contains("must be io_bytes / runtime"));
  CHECK_THAT(error_of(read_fio, replaced(kFio, "\"iops\" : 2000.0", "\"iops\" : 20")),
             Contains("must be total_ios / runtime"));
  CHECK_THAT(error_of(read_fio, replaced(kFio, "fio-3.33", "fio-2.2")), Contains("fio-3 or later"));
  CHECK_THAT(error_of(read_fio, replaced(kFio, "\"error\" : 0", "\"error\" : 5")),
             Contains("the job failed"));
}

TEST_CASE("damaged JSON logs are refused or read", "[iperf3-log][fio-log][fuzz]")
{
  fuzz(read_iperf3_log, kTcp);
  fuzz(read_fio, kFio);
}

} // namespace foretrain::json_logs_test
