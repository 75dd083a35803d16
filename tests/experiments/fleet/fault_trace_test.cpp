#include "experiments/fleet/fault_trace.hpp"

#include "experiments/fleet/fleet_answer.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::fault_trace_test {

using namespace foretrain::experiments;

TEST_CASE("faults of a node that is down already keep it down", "[fleet]")
{
  const test::TextFile file("faults.csv", "end_day,why,node,start_day\n"
                                          "3,fan,1,2\n"
                                          "9,cable,0,4\n"
                                          "5,GPU,1,2.5\n"
                                          "4,GPU,1,3.5\n"
                                          "8,GPU,1,6\n");
  const auto outages = read_fault_trace(file.path(), 2);
  REQUIRE(outages.size() == 3);
  CHECK(outages[0].first == 0);
  CHECK(outages[1].time == Seconds(2 * 86400));
  CHECK(outages[1].repaired == Seconds(5 * 86400));
  CHECK(outages[2].time == Seconds(6 * 86400));
  CHECK(outages[2].nodes == 1);
}

TEST_CASE("a fault of a node that the cluster lacks is refused", "[fleet]")
{
  const test::TextFile file("faults.csv", "node,start_day,end_day\n1,0,1\n2,0,1\n");
  CHECK_THROWS_WITH(read_fault_trace(file.path(), 2),
                    Catch::Contains("line 3") &&
                        Catch::Contains("names node 2, and the cluster has nodes 0 to 1"));
  CHECK(read_fault_trace(file.path(), 3).size() == 2);
}

TEST_CASE("a fault of no node, or without a time, is refused with its line", "[fleet]")
{
  const auto [fault, column] = GENERATE(table<std::string, std::string>(
      {{"1,2,1", "'end_day' must be a number of days not before 'start_day', got '1'"},
       {"-1,0,1", "'node' must be a node's number from 0 on, got '-1'"},
       {"0.5,0,1", "'node' must"},
       {"1e30,0,1", "'node' must"},
       {"one,0,1", "'node' must be a node's number from 0 on, got 'one'"},
       {"1,-1,1", "'start_day' must"},
       {"1,nan,1", "'start_day' must be a number of days from 0 on, got 'nan'"},
       {"1,,1", "'start_day' must"},
       {"1,0,", "'end_day' must"},
       {"1,0,soon", "'end_day' must"}}));
  CAPTURE(fault);
  const test::TextFile file("odd.csv", "node,start_day,end_day\n0,1,1\n" + fault + "\n");
  CHECK_THROWS_WITH(read_fault_trace(file.path(), 2),
                    Catch::Contains("line 3") && Catch::Contains(column));
}

TEST_CASE("GPU hours add up to the makespan where jobs are rejected, all or the last", "[fleet]")
{
  const auto answer = [](const std::string& jobs) {
    const test::TextFile trace("rejected.swf", jobs);
    const test::TextFile file(
        "rejected.json",
        R"({"cluster": {"nodes": 1, "gpus_per_node": 4}, "jobs": {"kind": "swf", "trace": ")" +
            trace.path().string() + "\"}}");
    const LoadedFleet fleet = load_fleet(file.path().string(), {}, "");
    return fleet_answer(fleet, run_fleet(fleet, {1, 1, false, {}}));
  };
  const std::string small = "1 100 0 360 4 -1 -1 4 -1 -1 1 1 0 -1 0 -1 -1 -1\n";
  const std::string large = "2 3700 0 360 5 -1 -1 5 -1 -1 1 1 0 -1 0 -1 -1 -1\n";
  const FleetAnswer both = answer(small + large);
  CHECK_THAT(both.makespan_s.median, test::is(3600));
  CHECK_THAT(both.gpu_hours.idle.median, test::is(3.6));
  CHECK_THAT(both.utilisation.median, test::is(0.1));
  const FleetAnswer none = answer(large);
  CHECK(none.jobs.rejected == 1);
  CHECK(none.makespan_s.median == 0);
}

} // namespace foretrain::fault_trace_test
