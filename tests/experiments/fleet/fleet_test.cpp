#include "experiments/fleet/fleet.hpp"

#include "experiments/fleet/fleet_answer.hpp"
#include "experiments/fleet/fleet_expectations.hpp"
#include "experiments/fleet/fleet_points.hpp"
#include "experiments/fleet/fleet_text.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/fleet/small_fleet.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::fleet_test {

using namespace foretrain::experiments;
using test::answer;
using test::load;
using test::with_trace;

namespace {

const std::string kTrace = "1 0 0 100 2 -1 -1 2 200 -1 1 1 0 -1 0 -1 -1 -1\n"
                           "2 0 0 50 4 -1 -1 4 60 -1 1 1 0 -1 1 -1 -1 -1\n"
                           "3 0 0 30 2 -1 -1 2 40 -1 1 1 0 -1 0 -1 -1 -1\n";

// When jobs start, in the order of the trace.
std::vector<double> starts_of(const std::string& text)
{
  std::vector<double> found;
  const auto runs = run_fleet(load(text), {1, 1, false, {}});
  for (const auto& outcome : runs.front().result.jobs)
    found.push_back(outcome.start.value());
  return found;
}

} // namespace

TEST_CASE("a fleet of recorded jobs: waits, times, GPU hours", "[fleet]")
{
  const test::TextFile trace("jobs.swf", kTrace);
  const LoadedFleet fleet = load(with_trace(trace));
  const auto runs = run_fleet(fleet, {1, 1, false, {}});
  const FleetAnswer found = fleet_answer(fleet, runs);
  // The first runs from 0 to 100, the second from 100 to 150, the third after it.
  CHECK(found.jobs.completed == 3);
  CHECK_THAT(found.wait_s->mean.median, test::is((0 + 100 + 150) / 3.0));
  CHECK_THAT(found.completion_s->mean.median, test::is((100 + 150 + 180) / 3.0));
  CHECK_THAT(found.slowdown->mean.median, test::is((1 + 3 + 6) / 3.0));
  CHECK_THAT(found.makespan_s.median, test::is(180));
  CHECK_THAT(found.gpu_hours.productive.median, test::is((200 + 200 + 60) / 3600.0));
  CHECK_THAT(found.gpu_hours.queued.median, test::is(200 / 3600.0));
  CHECK_THAT(found.gpu_hours.idle.median, test::is(60 / 3600.0));
  CHECK_THAT(found.utilisation.median, test::is(460 / 720.0));
  REQUIRE(found.by_queue.size() == 2);
  CHECK(found.by_queue[1].first == "queue 1");
  CHECK(found.by_queue[1].second.jobs == 1);
  CHECK(jobs_csv(runs.front()) ==
        "id,queue,account,gpus,submit_s,start_s,end_s,wait_s,run_s,nodes,restarts,state,"
        "waited_for\r\n"
        "1,queue 0,group 0,2,0,0,100,0,100,2,0,completed,\r\n"
        "2,queue 1,group 0,4,0,100,150,100,50,4,0,completed,gpus\r\n"
        "3,queue 0,group 0,2,0,150,180,150,30,2,0,completed,order\r\n");
  CHECK(answer(load(with_trace(trace), {}, "easy")).wait_s->mean.median < 40);
}

TEST_CASE("slowdowns are bounded: a short job that waits for nothing has one", "[fleet]")
{
  const test::TextFile trace("short.swf", "1 0 0 2 2 -1 -1 2 200 -1 1 1 0 -1 0 -1 -1 -1\n");
  const FleetAnswer found = answer(load(with_trace(trace)));
  CHECK(found.slowdown->mean.median == 1);
  CHECK(found.completion_s->mean.median == 2);
}

TEST_CASE("what SWF is written is read again, and replayed alike", "[fleet]")
{
  const test::TextFile trace("jobs.swf", kTrace);
  const LoadedFleet fleet = load(with_trace(trace));
  const auto runs = run_fleet(fleet, {1, 1, false, {}});
  const std::string written = jobs_swf(runs.front(), fleet_answer(fleet, runs));
  CHECK(written.find("have no column here") == std::string::npos);
  auto of_nodes = runs.front();
  of_nodes.workload.jobs.back().nodes = 1;
  CHECK_THAT(jobs_swf(of_nodes, fleet_answer(fleet, runs)),
             Catch::Contains("; Note: nodes that jobs asked for have no column here"));
  const test::TextFile again("again.swf", written);
  CHECK(answer(load(with_trace(again))).completion_s->mean.median ==
        answer(fleet).completion_s->mean.median);
}

TEST_CASE("several seeds put jobs of the same second in different orders", "[fleet]")
{
  const test::TextFile trace("jobs.swf", kTrace);
  const Range range = answer(load(with_trace(trace)), 20).wait_s->mean;
  CHECK(range.low < range.high);
  const Range one = answer(load(with_trace(trace))).wait_s->mean;
  CHECK(one.low == one.high);
}

TEST_CASE("queues have limits and quotas", "[fleet]")
{
  const test::TextFile trace("jobs.swf", kTrace);
  const LoadedFleet fleet =
      load(with_trace(trace, R"("queues": [{"name": "queue 1", "max_time": "20 s"}], )"));
  const FleetAnswer found = answer(fleet);
  CHECK(found.jobs.timeout == 1);
  CHECK_THAT(found.makespan_s.median, test::is(150));
}

TEST_CASE("planned maintenance comes as often as the file says", "[fleet]")
{
  const test::TextFile trace("jobs.swf", kTrace);
  const auto starts = [&](const std::string& maintenance) {
    return starts_of(
        with_trace(trace, R"("policy": "easy", "maintenance": [)" + maintenance + "], "));
  };
  // Limits are 200, 60 and 40 s; all run from 0 but for the second, which needs all four GPUs.
  CHECK(starts("") == std::vector<double>{0, 100, 0});
  CHECK(starts(R"({"from": "130 s", "length": "70 s", "first_node": 2})") ==
        std::vector<double>{0, 200, 0});
  CHECK(starts(R"({"from": "130 s", "length": "20 s", "times": 3, "every": "50 s"})") ==
        std::vector<double>{250, 0, 50}); // 130-150, 180-200, 230-250: too near for the first
  CHECK(starts(R"({"from": "0 s", "length": "30 s", "nodes": 2})") ==
        std::vector<double>{0, 100, 30}); // the other two nodes are taken
}

TEST_CASE("nodes are reserved for an account or a queue", "[fleet]")
{
  const test::TextFile trace("jobs.swf", kTrace);
  const auto starts = [&](const std::string& reservation) {
    return starts_of(
        with_trace(trace, R"("policy": "easy", "reservations": [)" + reservation + "], "));
  };
  // Jobs of queue 0 ask for 200 and 40 s on two nodes each, that of queue 1 for 60 s on all four.
  CHECK(starts(R"({"from": "0 s", "length": "70 s", "nodes": 2, "queues": ["queue 0"]})") ==
        std::vector<double>{0, 100, 0});
  CHECK(starts(R"({"from": "0 s", "length": "70 s", "nodes": 2, "queues": ["queue 1"]})") ==
        std::vector<double>{0, 100, 70});
  CHECK(starts(R"({"from": "50 s", "length": "40 s", "times": 2, "every": "80 s",
                   "queues": ["queue 1"]})") == std::vector<double>{170, 0, 90});
  CHECK(starts(R"({"from": "0 s", "length": "70 s", "accounts": ["group 0"]})") ==
        std::vector<double>{0, 100, 0});
  const auto refused = [&](const std::string& reservation, const std::string& why) {
    CHECK_THROWS_WITH(starts(reservation), Catch::Contains(why));
  };
  refused(R"({"from": "0 s", "length": "70 s"})", "must have accounts or queues");
  refused(R"({"from": "0 s", "length": "70 s", "queues": ["queue 7"]})",
          "/reservations/0/queues/0");
  refused(R"({"from": "0 s", "length": "70 s", "queues": ["quue 1"]})", "did you mean 'queue 1'?");
  refused(R"({"from": "0 s", "length": "70 s", "nodes": 5, "queues": ["queue 1"]})",
          "goes beyond the last node");
}

TEST_CASE("energy is that of GPUs that work, of those that do not, and of nodes that are up",
          "[fleet][closed-form]")
{
  const test::TextFile trace("jobs.swf", kTrace);
  const FleetAnswer none = answer(load(with_trace(trace)));
  CHECK_FALSE(none.energy_kwh);
  const std::string power = R"("cluster": {"nodes": 4, "gpus_per_node": 1,
      "power": {"gpu_busy": 300, "gpu_idle": 50, "node": 400}}, )";
  std::string text = with_trace(trace, power);
  text.erase(text.find(R"("cluster": {"nodes": 4, "gpus_per_node": 1}, )"),
             std::string(R"("cluster": {"nodes": 4, "gpus_per_node": 1}, )").size());
  const FleetAnswer found = answer(load(text));
  REQUIRE(found.energy_kwh); // 460 of 720 GPU seconds are work
  CHECK_THAT(found.energy_kwh->median, test::is((460 * 300 + 260 * 50 + 720 * 400) / 3.6e6));
  const FleetAnswer maintained = answer(load(text, {"/maintenance=[{\"from\": \"300 s\", "
                                                    "\"length\": \"1 s\"}]"}));
  CHECK_THAT(maintained.energy_kwh->median, test::is(found.energy_kwh->median));
  const auto spared = [&](const char* faults, const char* more = "") {
    const test::TextFile file("faults.csv",
                              "node,start_day,end_day\n" + std::string(faults) + "\n");
    const std::string failures =
        R"({"spares": 3, "trace": ")" + file.path().string() + "\"" + more + "}";
    return answer(load(text, {"/failures=" + failures})).energy_kwh->median -
           found.energy_kwh->median;
  };
  const double spare = 180 * (50 + 400) / 3.6e6;                  // until the last job ends
  CHECK_THAT(spared("0,100,101"), test::is(3 * spare));           // when all is over
  CHECK_THAT(spared("4,0,1"), test::is(2 * spare));               // one of the spares
  CHECK(spared("0,100,101", R"(, "spare_start": "1 min")") == 0); // cold
}

TEST_CASE("who used what: by account as by queue", "[fleet]")
{
  const test::TextFile trace("jobs.swf", "1 0 0 100 2 -1 -1 2 200 -1 1 1 7 -1 0 -1 -1 -1\n"
                                         "2 0 0 50 4 -1 -1 4 60 -1 1 1 3 -1 1 -1 -1 -1\n");
  const FleetAnswer found = answer(load(with_trace(trace)));
  REQUIRE(found.by_account.size() == 2);
  CHECK(found.by_account[0].first == "group 7");
  CHECK_THAT(found.by_account[0].second.gpu_hours.median, test::is(200 / 3600.0));
  CHECK_THAT(found.by_account[1].second.wait_s->mean.median, test::is(100));
  CHECK_THAT(fleet_table(found), Catch::Contains("group 3"));
}

TEST_CASE("GPUs, nodes and the storage fail by rates of their own", "[fleet]")
{
  const auto found = [](const std::string& failures) {
    return answer(load(R"({"cluster": {"nodes": 10, "gpus_per_node": 4}, "policy": "easy",
      "arrivals": {"per_hour": 1, "until": "40 d", "mix": [{"gpus": 1, "run_time": "2 h"}]},
      "failures": {)" + failures +
                       R"(, "repair": {"median": "1 h", "mean": "1 h"}}})"),
                  5);
  };
  const auto near_to = [](const Range& range, double value) {
    return std::abs(range.median / value - 1) < 0.35;
  };
  // 40 GPUs for 40 days, each fails once in 20: a node has four of them.
  const FleetAnswer gpu = found(R"("gpus": {"per_1000_days": 50, "takes": "gpu"})");
  CHECK(near_to(gpu.failures->failures, 80));
  CHECK(near_to(gpu.gpu_hours.repair, 80));
  const FleetAnswer node = found(R"("gpus": {"per_1000_days": 50})");
  CHECK(near_to(node.failures->failures, 80));
  CHECK(near_to(node.gpu_hours.repair, 4 * 80));
  CHECK(gpu.failures->interruptions.median < node.failures->interruptions.median);
  const FleetAnswer storage =
      found(R"("storage": {"per_1000_days": 500, "repair": {"median": "3 h", "mean": "3 h"}})");
  CHECK(near_to(storage.failures->failures, 20));
  CHECK(storage.failures->interruptions.median == 0);
  CHECK(storage.gpu_hours.repair.median == 0);
  // Two jobs run when it goes, and one more comes in each of its three hours.
  CHECK(near_to(storage.gpu_hours.restart, 20 * (2 * 3 + 3 * 3 / 2.0)));
}

TEST_CASE("nodes that fail less than once in a thousand days fail all the same", "[fleet]")
{
  // 2,000 nodes for 100 days: 0.5 in a thousand are 100, give or take what chance does.
  const FleetAnswer found = answer(load(R"({"cluster": {"nodes": 2000, "gpus_per_node": 1},
      "failures": {"per_1000_node_days": 0.5, "repair": {"median": "1 h", "mean": "1 h"}},
      "arrivals": {"per_hour": 1, "until": "100 d", "mix": [{"gpus": 1, "run_time": "1 h"}]}})"));
  REQUIRE(found.failures);
  CHECK(std::abs(found.failures->failures.median - 100) < 4 * std::sqrt(100.0));
}

TEST_CASE("nodes that checks find faulty drain, and jobs write as seldom as is best then",
          "[fleet]")
{
  const auto found = [](const std::string& drained) {
    return answer(load(R"({"cluster": {"nodes": 16, "gpus_per_node": 8}, "policy": "easy",
      "arrivals": {"per_hour": 1, "until": "30 d", "mix": [{"gpus": 16, "run_time": "5 h"}]},
      "failures": {"per_1000_node_days": 80, "repair": {"median": "2 h", "mean": "2 h"},
                   "drained": )" +
                       drained + R"(}, "checkpoint": {"interval": "best", "write": "60 s"}})"),
                  5);
  };
  const FleetAnswer none = found("0"), most = found("0.75");
  CHECK_FALSE(none.failures->drained);
  const double all = 16 * 30 * 0.08;
  CHECK(std::abs(none.failures->failures.median / all - 1) < 0.3);
  CHECK(std::abs(most.failures->failures.median / (all / 4) - 1) < 0.5);
  CHECK(std::abs(most.failures->drained->median / (all * 3 / 4) - 1) < 0.3);
  // Failures that are four times as rare: twice the interval.
  CHECK(std::abs(most.gpu_hours.checkpoint.median / none.gpu_hours.checkpoint.median - 0.5) < 0.05);
  CHECK_THAT(fleet_table(most), Catch::Contains("nodes drained"));
}

TEST_CASE("checkpoints are as often as is best for failures of nodes, or as many of switches",
          "[fleet]")
{
  const auto written = [](const std::string& failures) {
    const FleetAnswer found =
        answer(load(R"({
      "cluster": {"nodes": 16, "gpus_per_node": 8, "nodes_per_switch": 4},
      "arrivals": {"per_hour": 0.1, "until": "10 d", "mix": [{"gpus": 64, "run_time": "8 h"}]},
      "failures": {"repair": {"median": "1 h", "mean": "1 h"}, )" +
                    failures + R"(}, "checkpoint": {"interval": "best", "write": "60 s"}})"),
               5);
    return found.gpu_hours.checkpoint.median / found.gpu_hours.productive.median;
  };
  const double often = written(R"("per_1000_node_days": 100)"); // of 8 nodes, and of 2 switches
  CHECK(written(R"("per_1000_switch_days": 400)") == Approx(often).epsilon(0.02));
  CHECK(written(R"("per_1000_switch_days": 100)") == Approx(often / 2).epsilon(0.02));
}

TEST_CASE("who lost its GPUs for ever had started", "[fleet]")
{
  const test::TextFile trace("two.swf", "1 0 -1 900 2 -1 -1 2 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
                                        "2 0 -1 900 2 -1 -1 2 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n");
  const test::TextFile faults("faults.csv", "node,start_day,end_day\n0,0.005,1000\n");
  const FleetAnswer found =
      answer(load(R"({"cluster": {"nodes": 2, "gpus_per_node": 1}, "failures": {"trace": ")" +
                  faults.path().string() + R"("}, "jobs": {"kind": "swf", "trace": ")" +
                  trace.path().string() + "\"}}"));
  CHECK(found.jobs.waiting == 2);
  CHECK(found.jobs.unfinished == 1);
  CHECK_THAT(fleet_table(found), Catch::Contains("1 never started, 1 started and never got GPUs"));
}

TEST_CASE("jobs that are drawn: Poisson arrivals of a mix, with failures and checkpoints",
          "[fleet]")
{
  const LoadedFleet fleet = load(R"({
    "cluster": {"nodes": 16, "gpus_per_node": 8, "price_per_gpu_hour": 2},
    "policy": "easy",
    "arrivals": {"per_hour": 1.5, "until": "30 d", "mix": [
      {"share": 3, "gpus": 8, "run_time": "3 h", "law": "exponential", "queue": "small"},
      {"share": 1, "gpus": 32, "run_time": "6 h", "law": "log-normal", "queue": "large"}]},
    "failures": {"per_1000_node_days": 50, "repair": {"median": "2 h", "mean": "5 h"},
                 "detect": "10 min", "spares": 1},
    "checkpoint": {"interval": "best", "write": "60 s", "restart": "5 min"}})");
  const FleetAnswer found = answer(fleet, 5);
  CHECK(std::abs(found.jobs.submitted - 1080) < 4 * std::sqrt(1080));
  CHECK(found.jobs.completed == found.jobs.submitted);
  REQUIRE(found.by_queue.size() == 2);
  CHECK(std::abs(found.by_queue[0].second.jobs / double(found.jobs.submitted) - 0.75) < 0.04);
  REQUIRE(found.failures);
  CHECK(std::abs(found.failures->failures.median / (16 * 30 * 0.05) - 1) < 0.5);
  CHECK(found.gpu_hours.lost.median > 0);
  CHECK(found.gpu_hours.restart.median > 0);
  CHECK(found.gpu_hours.checkpoint.median > 0);
  CHECK(found.ettr.median < 1);
  CHECK(found.cost->median > 2 * 128 * 24 * 30 * 0.98);
}

TEST_CASE("ranges of a group are over the seeds that have such jobs", "[fleet]")
{
  const LoadedFleet fleet = load(R"({"cluster": {"nodes": 64, "gpus_per_node": 8},
    "arrivals": {"per_hour": 1, "until": "20 h", "mix": [
      {"share": 9, "gpus": 1, "run_time": "1 h"}, {"share": 1, "gpus": 8, "run_time": "2 h"}]}})");
  const auto runs = run_fleet(fleet, {1, 20, false, {}});
  const auto has_large = [](const FleetRun& run) {
    return std::any_of(run.workload.jobs.begin(), run.workload.jobs.end(),
                       [](const auto& job) { return job.gpus == 8; });
  };
  REQUIRE(std::count_if(runs.begin(), runs.end(), has_large) < 20);
  const auto without = std::find_if_not(runs.begin(), runs.end(), has_large);
  // Also where the first seed has none.
  std::vector<FleetRun> turned(without, runs.end());
  turned.insert(turned.end(), runs.begin(), without);
  for (const auto& of : {runs, turned}) {
    const FleetAnswer found = fleet_answer(fleet, of);
    REQUIRE(found.by_size.size() == 2);
    CHECK_THAT(found.by_size[1].second.completion_s->mean.low, test::is(7200.0));
    CHECK_THAT(found.by_size[1].second.completion_s->mean.high, test::is(7200.0));
  }
}

TEST_CASE("a fleet to which nobody comes, and one in which nobody runs, say so", "[fleet]")
{
  const std::string cluster = R"({"cluster": {"nodes": 2, "gpus_per_node": 4},)";
  CHECK_THROWS_WITH(answer(load(cluster + R"("arrivals": {"process": "even", "per_hour": 0.04,
                      "until": "1 d", "mix": [{"gpus": 1, "run_time": "1 h"}]}})"),
                           2),
                    Catch::Contains("/arrivals bring no job"));
  const FleetAnswer found = answer(load(cluster + R"("arrivals": {"process": "even",
    "per_hour": 1, "until": "2.5 h", "mix": [{"gpus": 9, "run_time": "1 h"}]}})"),
                                   1);
  CHECK(found.jobs.rejected == 2);
  const test::TextFile file("none.json", cluster + R"("arrivals": {"process": "even",
    "per_hour": 1, "until": "2.5 h", "mix": [{"gpus": 9, "run_time": "1 h"}]},
    "expect": [{"quantity": "/wait_s/p90", "at_most": 60}]})");
  const FleetFile checked = load_fleet_file(file.path(), {}, "");
  const std::vector<FleetPointRun> points{{&checked.points.front(), found, {}, {}}};
  CHECK_THAT(judged_fleet_expectations(checked, points).at(0).problem,
             Catch::Contains("no job ran to its end"));
  CHECK_THAT(fleet_table(found),
             Catch::Contains("No job ran to its end") && !Catch::Contains("wait        "));
  CHECK((!found.wait_s && !found.completion_s && !found.slowdown));
  CHECK(!found.by_size.front().second.wait_s);
}

TEST_CASE("a fleet's price may be told by platform, and has its currency", "[fleet]")
{
  const auto priced = [](const std::string& price) {
    return load(R"({"cluster": {"platform": "dgx-a100", "nodes": 1, "currency": "EUR",
      "price_per_gpu_hour": )" +
                price + R"(}, "arrivals": {"process": "even", "per_hour": 1, "until": "1.5 h",
      "mix": [{"gpus": 8, "run_time": "1000 h"}]}})");
  };
  const FleetAnswer found = answer(priced(R"({"hgx-h100": 4, "dgx-a100": 2})"), 1);
  CHECK_THAT(found.cost->median, test::is(2.0 * 8 * 1000));
  CHECK_THAT(fleet_table(found), Catch::Contains("cost 16,000 EUR"));
  CHECK_THROWS_WITH(priced(R"({"hgx-h100": 4})"), Catch::Contains("no price of platform"));
  CHECK_THROWS_WITH(priced("-1"), Catch::Contains("must be a price that is not negative"));
}

TEST_CASE("simulations find the interval of checkpoints that a formula knows",
          "[fleet][closed-form]")
{
  const auto best = [](const std::string& more) {
    const FleetAnswer found = answer(load(R"({"cluster": {"nodes": 16, "gpus_per_node": 8},
          "arrivals": {"per_hour": 3600, "until": "2.5 s",
                       "mix": [{"gpus": 32, "run_time": "2000 h"}]},
          "failures": {"per_1000_node_days": 500, "repair": {"median": "1 h", "mean": "1 h"}},
          "checkpoint": {"interval": "simulated", "write": "120 s", "restart": "5 min")" +
                                          more + "}}"),
                                     2);
    CHECK_THAT(fleet_table(found), Catch::Contains("of Daly's interval"));
    return found.interval_of_daly.value();
  };
  const double blocking = best(""); // losses are flat around the best
  CHECK(blocking > 0.7);
  CHECK(blocking < 1.5);
  CHECK(best(R"(, "asynchronous": true)") == 0.25); // writes cost nothing
}

TEST_CASE("a job that goes on reads its checkpoint for a time, or at a rate",
          "[fleet][closed-form]")
{
  const test::TextFile faults("faults.csv", "node,start_day,end_day\n0,0.1,1\n");
  const auto restart = [&](const std::string& checkpoint) {
    return answer(load(R"({"cluster": {"nodes": 2, "gpus_per_node": 8},
      "arrivals": {"per_hour": 3600, "until": "1.5 s", "mix": [{"gpus": 8, "run_time": "4 h"}]},
      "failures": {"trace": ")" +
                       faults.path().string() + R"("}, "checkpoint": {"interval": "1 h", )" +
                       checkpoint + "}}"),
                  1)
        .gpu_hours.restart.median;
  };
  const std::string rate = R"("bytes_per_gpu": "1 GB", "rate": "1 GB/s", "restart": "5 min")";
  CHECK_THAT(restart(rate), test::is(8 * 300 / 3600.0));
  CHECK_THAT(restart(rate + R"(, "read_rate": "0.1 GB/s")"), test::is(8 * (300 + 80) / 3600.0));
  CHECK_THAT(restart(R"("write": "8 s", "read": "40 s")"), test::is(8 * 40 / 3600.0));
}

TEST_CASE("a simulation that is stopped says so, and keeps what it has", "[fleet]")
{
  const LoadedFleet fleet = load(R"({"cluster": {"nodes": 1, "gpus_per_node": 8},
    "arrivals": {"per_hour": 100, "until": "300 d", "mix": [{"gpus": 1, "run_time": "1 min"}]}})");
  const auto runs =
      run_fleet(fleet, {1, 3, false, [](int, std::size_t, std::size_t) { return false; }});
  REQUIRE(runs.size() == 1);
  const FleetAnswer found = fleet_answer(fleet, runs);
  CHECK(found.interrupted);
  CHECK(found.jobs.completed > 1000);
  CHECK(found.jobs.completed < found.jobs.submitted);
}

TEST_CASE("a trace lies beside the file that names it, also where another one extends that",
          "[fleet]")
{
  const LoadedFleet fleet = load(R"({"extends": "c4140-month", "cluster": {"nodes": 9}})");
  CHECK(fleet.shape.nodes == 9);
  CHECK(fleet.trace->workload.jobs.size() == 906);
}

} // namespace foretrain::fleet_test
