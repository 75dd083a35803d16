#include "experiments/fleet/fleet_when.hpp"

#include "sim/base/error.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <set>

namespace foretrain::fleet_when_test {

using namespace foretrain::experiments;

namespace {

const std::string kHead = "JobID|Partition|Account|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|"
                          "NNodes|ReqTRES\n";
// Jobs that have ended take half of their limit, or all of it.
const std::string kEnded = "1|gpu|a|2026-03-01T08:00:00|2026-03-01T08:00:00|2026-03-01T08:50:00|"
                           "3000|100|COMPLETED|1|gres/gpu=1\n"
                           "2|gpu|a|2026-03-01T08:00:00|2026-03-01T08:00:00|2026-03-01T09:00:00|"
                           "3600|60|TIMEOUT|1|gres/gpu=1\n";
const std::string kWaiting =
    "5|gpu|a|2026-03-01T10:00:02|Unknown|Unknown|0|60|PENDING|1|gres/gpu=1\n"
    "4|gpu|b|2026-03-01T10:00:01|Unknown|Unknown|0|60|PENDING|1|gres/gpu=4\n";

// All four GPUs, for so many of 100 minutes.
std::string running(int minutes)
{
  return "3|gpu|a|2026-03-01T09:00:00|2026-03-01T09:30:00|Unknown|" + std::to_string(60 * minutes) +
         "|100|RUNNING|1|gres/gpu=4\n";
}

LoadedFleet load(const test::TextFile& trace, const std::string& more = R"(, "take": "unfinished")")
{
  const test::TextFile file("when.json", R"({"name": "now", "cluster": {"nodes": 1,
    "gpus_per_node": 4}, "jobs": {"kind": "sacct", "trace": ")" +
                                             trace.path().string() + "\"" + more + "}}");
  return load_fleet(file.path(), {}, "");
}

FleetWhenAnswer when(const std::string& text, const std::string& job, int seeds = 40)
{
  const test::TextFile trace("when.sacct", kHead + text);
  const LoadedFleet fleet = load(trace);
  return fleet_when(fleet, run_fleet(fleet, {1, seeds, false, {}}), job);
}

} // namespace

TEST_CASE("when a waiting job starts follows from how much of their limits jobs take", "[fleet]")
{
  // 30 of 100 minutes are gone: it ends after 50, or after 100.
  const FleetWhenAnswer first = when(kEnded + kWaiting + running(30), "4");
  CHECK(first.starts == 40);
  CHECK(first.gpus == 4);
  CHECK_THAT(first.start_s->low, test::is(20 * 60));
  CHECK_THAT(first.start_s->high, test::is(70 * 60));
  CHECK(first.waited_for == std::vector<std::pair<std::string, int>>{{"gpus", 40}});
  // The one behind it waits for it, too: half an hour, or an hour.
  const FleetWhenAnswer second = when(kEnded + kWaiting + running(30), "5");
  CHECK_THAT(second.start_s->low, test::is((20 + 30) * 60));
  CHECK_THAT(second.start_s->high, test::is((70 + 60) * 60));
  REQUIRE(second.waited_for.size() == 2); // while the running one lasts, and while the next does
  CHECK(second.waited_for[0].first == "gpus");
  CHECK(second.waited_for[1].first == "order");
  CHECK(second.waited_for[0].second + second.waited_for[1].second == 40);
  // 60 are gone: none of those that ended did after less.
  const FleetWhenAnswer sure = when(kEnded + kWaiting + running(60), "4");
  CHECK_THAT(sure.start_s->low, test::is(40 * 60));
  CHECK_THAT(sure.start_s->high, test::is(40 * 60));
  // Nobody knows: the limit.
  CHECK_THAT(when(kWaiting + running(30), "4").start_s->median, test::is(70 * 60));
  CHECK(when(kEnded + kWaiting + running(30), "3").start_s->high == 0);
  CHECK_THAT(fleet_when_text(first),
             Catch::Contains("starts at") && Catch::Contains("waits most for"));
}

TEST_CASE("both shares of limits are taken alike, each in half of the seeds", "[fleet]")
{
  const test::TextFile file("when.sacct", kHead + kEnded + kWaiting + running(30));
  const JobTrace trace = read_job_trace(file.path(), TraceKind::sacct, TakeJobs::unfinished);
  REQUIRE(trace.workload.jobs.size() == 3);
  CHECK(trace.workload.jobs[0].id == "3"); // who runs comes first, then in order of submission
  CHECK(trace.workload.jobs[1].id == "4");
  CHECK_THAT(trace.workload.jobs[0].limit.value(), test::is(70 * 60));
  CHECK(trace.used_of_limit == std::vector<double>{0.5, 1});
  CHECK(trace.left_out == 2);
  int half = 0;
  std::set<double> found;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    models::fleet::Workload workload = trace.workload;
    draw_run_times(workload, trace, seed);
    half += workload.jobs[1].work.value() < 1801 ? 1 : 0;
    found.insert(workload.jobs[1].work.value());
  }
  CHECK(found.size() == 2);
  CHECK(std::abs(half - 200) < 4 * 10); // four standard deviations
}

TEST_CASE("jobs of a replay are asked for by their ids", "[fleet]")
{
  const test::TextFile trace("when.sacct", kHead + kEnded + kWaiting);
  const LoadedFleet fleet = load(trace, "");
  const auto runs = run_fleet(fleet, {1, 1, false, {}});
  CHECK(fleet_when(fleet, runs, "2").start_s->median == 0);
  CHECK_THROWS_WITH(fleet_when(fleet, runs, "4"), Catch::Contains("no job of the trace is called"));
  const test::TextFile rest("rest.sacct", kHead + kEnded + kWaiting);
  const LoadedFleet waits = load(rest, R"(, "take": "unfinished")");
  CHECK_THROWS_WITH(require_job(waits, "1"), Catch::Contains("job '1' is left out: it has ended"));
  const test::TextFile drawn("when.json",
                             R"({"cluster": {"nodes": 1, "gpus_per_node": 1}, "arrivals":
    {"per_hour": 1, "until": "2 h", "mix": [{"gpus": 1, "run_time": "1 h"}]}})");
  CHECK_THROWS_WITH(require_job(load_fleet(drawn.path(), {}, ""), "1"),
                    Catch::Contains("are drawn anew for each seed"));
}

TEST_CASE("what of unfinished jobs makes no sense is told", "[fleet]")
{
  const auto refused = [](const std::string& text, const std::string& more,
                          const std::string& why) {
    const test::TextFile trace("when.sacct", kHead + text);
    CHECK_THROWS_WITH(load(trace, more), Catch::Contains(why));
  };
  const std::string take = R"(, "take": "unfinished")";
  refused(kEnded, take, "holds no job that runs or waits");
  refused(kWaiting, "", "holds no job that can be replayed");
  refused(running(100), take, "should have ended: their limit is over");
  refused(kWaiting, take + R"(, "speed": "simulated", "job": {})", "must be recorded");
  refused(kWaiting, R"(, "take": "unfinish")", "did you mean 'unfinished'?");
  const test::TextFile swf("when.swf", "1 0 0 100 2 -1 -1 2 200 -1 1 1 0 -1 0 -1 -1 -1\n");
  const test::TextFile file("when.json", R"({"cluster": {"nodes": 1, "gpus_per_node": 4}, "jobs":
    {"kind": "swf", "take": "unfinished", "trace": ")" +
                                             swf.path().string() + "\"}}");
  CHECK_THROWS_WITH(load_fleet(file.path(), {}, ""), Catch::Contains("/jobs/take must be ended"));
}

} // namespace foretrain::fleet_when_test
