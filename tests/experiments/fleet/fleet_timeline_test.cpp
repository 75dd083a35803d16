#include "experiments/fleet/fleet_timeline.hpp"

#include "experiments/fleet/fleet_gantt.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

#include <map>

namespace foretrain::fleet_timeline_test {

using namespace foretrain::experiments;

TEST_CASE("a timeline has each job on the nodes that it held, nodes down, and the queue", "[fleet]")
{
  // Two nodes of two GPUs: b takes one GPU beside a; c needs all four, and waits for node 1 too.
  const test::TextFile trace("timeline.swf", "1 5 0 100 1 -1 -1 1 -1 -1 1 1 0 -1 0 -1 -1 -1\n"
                                             "2 5 0 50 1 -1 -1 1 -1 -1 1 1 0 -1 0 -1 -1 -1\n"
                                             "3 15 0 30 4 -1 -1 4 -1 -1 1 1 0 -1 1 -1 -1 -1\n");
  const test::TextFile faults("faults.csv", "node,start_day,end_day\n1,0.0001,0.002\n");
  const test::TextFile file(
      "timeline.json", R"({"cluster": {"nodes": 2, "gpus_per_node": 2}, "failures": {"trace": ")" +
                           faults.path().string() + R"("}, "jobs": {"kind": "swf", "trace": ")" +
                           trace.path().string() + "\"}}");
  const LoadedFleet fleet = load_fleet(file.path().string(), {}, "");
  const FleetRun run = run_fleet(fleet, {1, 1, true, {}}).front();
  const Json timeline = Json::parse(fleet_timeline(run, 2));
  std::size_t pieces = 0;
  std::map<std::string, std::vector<Json>> by_name;
  for (const Json& event : timeline.at("traceEvents")) {
    if (event.at("ph") == "X")
      by_name[event.at("name")].push_back(event);
    pieces += event.at("ph") == "X" ? 1U : 0U;
  }
  CHECK(pieces == 5); // a, b, c on two nodes, and a node that was down
  CHECK(timeline_pieces(run) == 5 + run.result.moments.size());
  const auto is = [](const Json& event, int pid, int tid, double ts, double dur) {
    CHECK(event.at("pid") == pid);
    CHECK(event.at("tid") == tid);
    CHECK_THAT(event.at("ts").get<double>(), test::is(ts));
    CHECK_THAT(event.at("dur").get<double>(), test::is(dur));
  };
  is(by_name.at("1").front(), 1, 0, 0, 100e6);
  is(by_name.at("2").front(), 1, 1, 0, 50e6);
  is(by_name.at("down").front(), 2, 2, 8.64e6, 164.16e6);
  REQUIRE(by_name.at("3").size() == 2);
  is(by_name.at("3")[0], 1, 0, 172.8e6, 30e6);
  is(by_name.at("3")[1], 2, 0, 172.8e6, 30e6);
  const Json& told = by_name.at("3")[0].at("args");
  CHECK(told.at("gpus") == 4);
  CHECK(told.at("gpus_here") == 2);
  CHECK(told.at("queue") == "queue 1");
  CHECK_THAT(told.at("wait_s").get<double>(), test::is(162.8));
  const auto waits = [&](double ts) {
    for (const Json& event : timeline.at("traceEvents"))
      if (event.at("ph") == "C" && event.at("name") == "jobs that wait" && event.at("ts") == ts)
        return event.at("args").at("jobs").get<int>();
    return -1;
  };
  CHECK(waits(10e6) == 1);
  CHECK(waits(172.8e6) == 0);
}

TEST_CASE("pictures show GPUs of jobs that wait for the rest of theirs", "[fleet]")
{
  // Pod by pod: the second job has a GPU from the 10th second on, the other when the first ends.
  const test::TextFile trace("pods.swf", "1 0 0 100 1 -1 -1 1 -1 -1 1 1 0 -1 0 -1 -1 -1\n"
                                         "2 10 0 30 2 -1 -1 2 -1 -1 1 1 0 -1 0 -1 -1 -1\n");
  const test::TextFile file("pods.json",
                            R"({"cluster": {"nodes": 2, "gpus_per_node": 1},
                               "policy": {"gang": false, "placement": "first-fit"},
                               "jobs": {"kind": "swf", "trace": ")" +
                                trace.path().string() + "\"}}");
  const LoadedFleet fleet = load_fleet(file.path().string(), {}, "");
  const FleetRun run = run_fleet(fleet, {1, 1, true, {}}).front();
  const Json timeline = Json::parse(fleet_timeline(run, 1));
  std::vector<Json> waits;
  for (const Json& event : timeline.at("traceEvents"))
    if (event.at("name") == "waits")
      waits.push_back(event);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].at("pid") == 2);
  CHECK(waits[0].at("ts") == 10e6);
  CHECK(waits[0].at("dur") == 90e6);
  CHECK(waits[0].at("args").at("job") == "2");
  CHECK(timeline_pieces(run) == 4 + run.result.moments.size());
  CHECK_THAT(fleet_gantt(run), Catch::Contains("held by jobs that wait for the rest") &&
                                   Catch::Contains("<g class=\"t8\">"));
}

TEST_CASE("a timeline tells names that are no UTF-8", "[fleet]")
{
  FleetRun run;
  run.workload.jobs.resize(1);
  run.workload.jobs[0].id = "a\xff\"b";
  run.result.jobs.resize(1);
  run.result.spans.push_back({0, {0, 0b110}, Seconds(0), Seconds(1)});
  const Json timeline = Json::parse(fleet_timeline(run, 4));
  CHECK(timeline.at("traceEvents").back().at("name") == "a\xef\xbf\xbd\"b");
  CHECK(timeline.at("traceEvents").back().at("tid") == 1);
}

TEST_CASE("a timeline has writes of checkpoints, restarts and lost work within their jobs",
          "[fleet]")
{
  // Of 1000 s of work a write of 10 s follows each 200; the node of the first attempt fails after
  // 500 s, when 80 s of work are not saved.
  const test::TextFile trace("failing.swf", "1 0 0 1000 2 -1 -1 2 -1 -1 1 1 0 -1 0 -1 -1 -1\n");
  const test::TextFile faults("one-fault.csv", "node,start_day,end_day\n0,0.005787037037,1\n");
  const test::TextFile file("failing.json", R"({"cluster": {"nodes": 2, "gpus_per_node": 2},
        "checkpoint": {"interval": "200 s", "write": "10 s", "restart": "60 s"},
        "failures": {"trace": ")" + faults.path().string() +
                                                R"("}, "jobs": {"kind": "swf", "trace": ")" +
                                                trace.path().string() + "\"}}");
  const LoadedFleet fleet = load_fleet(file.path().string(), {}, "");
  const FleetRun run = run_fleet(fleet, {1, 1, true, {}}).front();
  const Json timeline = Json::parse(fleet_timeline(run, 2));
  std::map<std::string, std::vector<Json>> by_name;
  for (const Json& event : timeline.at("traceEvents"))
    if (event.at("ph") == "X")
      by_name[event.at("name")].push_back(event);
  const auto span = [&](const std::string& name, std::size_t i) {
    const Json& event = by_name.at(name).at(i);
    return std::pair(event.at("ts").get<double>() / 1e6, event.at("dur").get<double>() / 1e6);
  };
  CHECK(span("checkpoint", 0) == std::pair(200.0, 10.0));
  CHECK(span("checkpoint", 1) == std::pair(410.0, 10.0));
  CHECK(span("lost work", 0) == std::pair(420.0, 80.0));
  CHECK(by_name.at("restart").front().at("args").at("job") == "1");
  CHECK_THAT(by_name.at("restart").front().at("dur").get<double>(), test::is(60e6));
  CHECK(by_name.at("lost work").front().at("pid") == 1);
  CHECK(by_name.at("restart").front().at("pid") == 2);
}

} // namespace foretrain::fleet_timeline_test
