#include "experiments/fleet/read_leases.hpp"

#include "experiments/fleet/fleet.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::read_leases_test {

using namespace foretrain::experiments;

namespace {

// Two jobs, of one GPU and of four, the first submitted at 1000 s of the trace's clock.
JobTrace two_jobs()
{
  JobTrace trace;
  trace.first_submit_s = 1000;
  trace.workload.jobs.resize(2);
  trace.workload.jobs[0].id = "a";
  trace.workload.jobs[1].id = "b";
  trace.workload.jobs[1].gpus = 4;
  return trace;
}

std::vector<models::fleet::Lease> read(const std::string& rows)
{
  const test::TextFile file("leases.csv", "job,start_s,end_s,nodes\n" + rows);
  return read_leases(file.path(), two_jobs(), {3, 2, 0});
}

} // namespace

TEST_CASE("leases are read in the trace's clock, by its ids", "[fleet]")
{
  const auto leases = read("b,1010,1020,2 0\na,1000.5,1001,1\n");
  REQUIRE(leases.size() == 2);
  CHECK(leases[0].job == 1);
  CHECK(leases[0].start == Seconds(10));
  CHECK(leases[0].end == Seconds(20));
  CHECK(leases[0].nodes == std::vector<int>{0, 2});
  CHECK(leases[1].start == Seconds(0.5));
  auto turned = two_jobs().workload;
  std::swap(turned.jobs[0], turned.jobs[1]);
  CHECK(leases_of(leases, two_jobs().workload, turned)[0].job == 0);
}

TEST_CASE("leases that make no sense are refused by line", "[fleet]")
{
  const auto refused = [](const std::string& rows, const std::string& why) {
    CHECK_THROWS_WITH(read(rows), Catch::Contains("leases.csv: line") && Catch::Contains(why));
  };
  refused("c,0,1,0\n", "names job 'c', which the trace does not have");
  refused("a,1,1,0\n", "end_s after its start_s");
  refused("a,0,1,3\n", "names node '3', and the cluster has nodes 0 to 2");
  refused("a,0,1,x\n", "names node 'x'");
  refused("a,0,1,0.5\n", "names node '0.5'");
  refused("b,0,1,1 1\n", "names a node twice");
  refused("b,0,1,0\n", "gives 1 nodes of 2 GPUs to a job of 4 GPUs");
  refused("b,0,1,0 1 2\n", "gives 3 nodes of 2 GPUs to a job of 4 GPUs");
  refused("a,0,1,\n", "gives 0 nodes");
  refused("a,0,5,0\na,4,6,0\n", "begins before the job's lease above it ends");
}

TEST_CASE("the policy recorded needs leases, and takes them from the file", "[fleet]")
{
  const test::TextFile trace("three.swf", "1 0 -1 30 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
                                          "2 0 -1 30 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n");
  const test::TextFile leases("held.csv", "job,start_s,end_s,nodes\n2,40,80,1\n1,0,30,0\n");
  const auto fleet = [&](const std::string& with, const std::string& policy = "\"recorded\"") {
    const test::TextFile file("recorded.json",
                              R"({"cluster": {"nodes": 2, "gpus_per_node": 1}, "policy": )" +
                                  policy + R"(, "jobs": {"kind": "swf", "trace": ")" +
                                  trace.path().string() + "\"" + with + "}}");
    return load_fleet(file.path().string(), {}, "");
  };
  CHECK_THROWS_WITH(fleet(""), Catch::Contains("needs leases of recorded jobs"));
  const std::string with = ", \"leases\": \"" + leases.path().string() + "\"";
  CHECK_THROWS_WITH(fleet(with, R"({"backfill": "recorded", "preemption": "quantum"})"),
                    Catch::Contains("without preemption, and with gangs"));
  CHECK_THROWS_WITH(fleet(with, R"({"backfill": "recorded", "gang": false})"),
                    Catch::Contains("without preemption, and with gangs"));
  const LoadedFleet read = fleet(with);
  const auto runs = run_fleet(read, {1, 1, false, {}});
  CHECK(runs.front().result.jobs[0].end == Seconds(30));
  CHECK(runs.front().result.jobs[1].start == Seconds(40));
}

} // namespace foretrain::read_leases_test
