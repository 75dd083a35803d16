#include "experiments/fleet/fleet_points.hpp"

#include "experiments/answers/check.hpp"
#include "experiments/fleet/fleet_compare.hpp"
#include "experiments/fleet/fleet_expectations.hpp"
#include "experiments/fleet/fleet_points_text.hpp"
#include "experiments/fleet/fleet_quantities.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::fleet_points_test {

using namespace foretrain::experiments;

namespace {

// On four GPUs: the first has two of them until 100, the second needs all, the third two for 30 s.
const std::string kTrace = "1 0 0 100 2 -1 -1 2 200 -1 1 1 0 -1 0 -1 -1 -1\n"
                           "2 1 0 50 4 -1 -1 4 60 -1 1 1 0 -1 0 -1 -1 -1\n"
                           "3 2 0 30 2 -1 -1 2 40 -1 1 1 0 -1 0 -1 -1 -1\n";

FleetFile load(const std::string& text, const std::vector<std::string>& set = {},
               const std::string& policy = "")
{
  const test::TextFile file("points.json", text);
  return load_fleet_file(file.path(), set, policy);
}

std::string replay(const test::TextFile& trace, const std::string& more)
{
  return R"({"name": "small", "cluster": {"nodes": 4, "gpus_per_node": 1}, )" + more +
         R"("jobs": {"kind": "swf", "trace": ")" + trace.path().string() + "\"}}";
}

std::vector<FleetPointRun> run(const FleetFile& file, int seeds = 1)
{
  return run_fleet_points(file.points, {1, seeds, false, {}});
}

FleetComparison compared(const FleetFile& a, const FleetFile& b, int seeds = 1,
                         const std::vector<std::string>& where_a = {})
{
  return compare_fleets({"A", run(a, seeds)}, {"B", run(b, seeds)}, where_a, {});
}

const FleetComparedQuantity& quantity(const FleetComparedPair& pair, const std::string& pointer)
{
  return *std::find_if(pair.quantities.begin(), pair.quantities.end(),
                       [&](const auto& it) { return it.quantity == pointer; });
}

// One GPU, jobs that come and take as they like; `stretch` makes all times longer by it.
std::string queue(double stretch, const std::string& more = "")
{
  return R"({"cluster": {"nodes": 1, "gpus_per_node": 1, "price_per_gpu_hour": 2}, )" + more +
         R"("arrivals": {"per_hour": )" + std::to_string(0.5 / stretch) + R"(, "until": ")" +
         std::to_string(100 * stretch) + R"( h", "mix": [{"gpus": 1, "law": "exponential",
         "run_time": ")" +
         std::to_string(stretch) + " h\"}]}}";
}

} // namespace

TEST_CASE("what is the same in another order is not less or more", "[fleet]")
{
  const FleetFile fifo = load(queue(1)), shortest = load(queue(1), {"/policy=sjf"});
  const FleetComparison comparison = compared(fifo, shortest, 20);
  const FleetComparedQuantity& work = quantity(comparison.pairs.front(), "/gpu_hours/productive");
  CHECK(work.b_less == 0);
  CHECK(work.b_more == 0);
  CHECK(work.difference.high == 0);
  const FleetComparedQuantity& wait = quantity(comparison.pairs.front(), "/wait_s/mean");
  CHECK(wait.b_less > 10);
}

TEST_CASE("points of a fleet's sweep are what --set makes of it", "[fleet]")
{
  const test::TextFile trace("points.swf", kTrace);
  const FleetFile file =
      load(replay(trace, R"("sweep": {"/policy": ["fifo", "easy"], "/cluster/nodes": [4, 6]}, )"));
  REQUIRE(file.points.size() == 4);
  CHECK(file.points[1].settings == Settings{{"/policy", "fifo"}, {"/cluster/nodes", 6}});
  CHECK(file.points[0].fleet.trace == file.points[3].fleet.trace); // read once
  const auto runs = run(file);
  // Four GPUs, in order: the second waits for the first, the third for the second. Six: the
  // third runs beside the first two.
  CHECK_THAT(runs[0].answer.wait_s->mean.median, test::is((0 + 99 + 148) / 3.0));
  CHECK_THAT(runs[1].answer.wait_s->mean.median, test::is((0 + 0 + 49) / 3.0));
  CHECK_THAT(runs[2].answer.wait_s->mean.median, test::is((0 + 99 + 0) / 3.0));
  CHECK_THAT(runs[2].answer.makespan_s.median, test::is(150));
  CHECK(runs[3].answer.gpus == 6);
  const FleetSweepAnswer answer = fleet_sweep_answer(file, runs);
  CHECK(answer.fleet == "small");
  const Json json = written(answer);
  CHECK(json.at("points")[2].at("settings").at("/policy") == "easy");
  CHECK(json.at("points")[2].at("policy") == "easy");
  CHECK(json.at("points")[2].at("wait_s").at("mean").at("median") == 33);
  const std::string csv = fleet_points_csv(answer);
  CHECK(csv.starts_with(
      "point,/policy,/cluster/nodes,gpus,jobs_submitted,jobs_completed,"
      "jobs_timeout,jobs_rejected,jobs_waiting,jobs_unfinished,jobs_running,jobs_stuck,"
      "makespan_s,makespan_s_low,makespan_s_high,wait_s_mean,"));
  CHECK_THAT(csv, Catch::Contains("\r\n3,easy,4,4,3,3,0,0,0,0,0,0,150,150,150,33,33,33,"));
  CHECK_THAT(fleet_points_table(answer), Catch::Contains("policy") && Catch::Contains("nodes"));
  CHECK_THAT(fleet_points_html(answer), Catch::Contains("Where GPU hours went"));
}

TEST_CASE("the table of a sweep names the currency of costs", "[fleet]")
{
  const auto table = [](const std::vector<std::string>& set) {
    const FleetFile file = load(queue(1, R"("sweep": {"/policy": ["fifo", "easy"]}, )"), set);
    return fleet_points_table(fleet_sweep_answer(file, run(file)));
  };
  CHECK_THAT(table({}), Catch::Contains("  cost\n"));
  CHECK_THAT(table({"/cluster/currency=EUR"}), Catch::Contains("  cost, EUR\n"));
}

TEST_CASE("what the command line sets the sweep no longer varies", "[fleet]")
{
  const test::TextFile trace("points.swf", kTrace);
  const std::string text =
      replay(trace, R"("sweep": {"/policy": ["fifo", "easy"], "/cluster/nodes": [4, 6]}, )");
  CHECK(load(text, {"/cluster/nodes=5"}).points.size() == 2);
  const std::string linked = replay(
      trace, R"("sweep": {"/policy /cluster/nodes": [["fifo", 4], ["easy", 6], ["sjf", 4]]}, )");
  CHECK(load(linked, {"/cluster/nodes=4"}).points.size() == 2); // those that have it beside them
  CHECK(load(linked, {"/policy=easy"}).points.front().fleet.shape.nodes == 6);
  CHECK(load(linked, {"/cluster/nodes=5"}).points.size() == 3); // nobody has
  const FleetFile one = load(text, {"/cluster/nodes=5"}, "sjf");
  REQUIRE(one.points.size() == 1);
  CHECK(one.points.front().fleet.policy_name == "sjf");
  CHECK(one.points.front().settings.empty());
  CHECK_THROWS_WITH(load(text, {"/policy/order=sjf"}), Catch::Contains("the sweep varies /policy"));
  CHECK_THROWS_WITH(load(replay(trace, R"("sweep": {"/policy": ["fifo", "esay"]}, )")),
                    Catch::Contains("did you mean 'easy'?"));
  CHECK_THROWS_WITH(load(replay(trace, R"("sweep": {"/cluster/nods": [1]}, )")),
                    Catch::Contains("did you mean 'nodes'?"));
  CHECK_THROWS_WITH(load(replay(trace, R"("sweep": {"/seeds": [1, 2]}, )")),
                    Catch::Contains("/sweep varies /seeds"));
  const test::TextFile two("two.json",
                           replay(trace, R"("sweep": {"/policy": ["fifo", "easy"]}, )"));
  CHECK_THROWS_WITH(load_fleet(two.path(), {}, ""), Catch::Contains("makes 2 points"));
}

TEST_CASE("expectations choose points and compare them", "[fleet]")
{
  const test::TextFile trace("points.swf", kTrace);
  const auto problems = [&](const std::string& expect, const std::vector<std::string>& set = {}) {
    const FleetFile file = load(replay(trace, R"("sweep": {"/policy": ["fifo", "easy"]},
      "expect": [)" + expect + "], "),
                                set);
    return violated_fleet_expectations(file, run(file));
  };
  CHECK(problems(R"({"quantity": "/wait_s/mean", "at_most": 33, "point": {"/policy": "easy"}})")
            .empty());
  const auto both = problems(R"({"quantity": "/wait_s/mean", "at_most": 33})");
  REQUIRE(both.size() == 1);
  CHECK(both[0] == R"(/wait_s/mean at {"/policy":"fifo"} is 82.3333, expected at most 33)");
  const std::string ratio =
      R"({"quantity": "/wait_s/mean", "point": {"/policy": "easy"}, "than": {"/policy": "fifo"}, )";
  CHECK(problems(ratio + R"("at_most": 0.401})").empty()); // 33 / 82.33
  CHECK_THAT(problems(ratio + R"("at_most": 0.4})").at(0), Catch::Contains("ratio 0.40081"));
  CHECK(
      problems(ratio + R"("at_most": 0.4})", {"/policy=easy"}).empty()); // nothing to compare with
  CHECK_THAT(
      problems(R"({"quantity": "/goodput", "at_least": 0, "point": {"/policy": "las"}})").at(0),
      Catch::Contains("is about no point"));
  CHECK_THROWS_WITH(problems(R"({"quantity": "/waits", "at_most": 1})"),
                    Catch::Contains("/expect/0/quantity"));
  CHECK_THROWS_WITH(problems(R"({"quantity": "/goodput"})"),
                    Catch::Contains("must have at_least or at_most"));
}

TEST_CASE("an expectation is violated with the share of seeds that violate it", "[fleet]")
{
  const FleetFile plain = load(queue(1));
  std::vector<double> waits;
  const auto plain_runs = run(plain, 5);
  for (const FleetAnswer& answer : plain_runs.front().by_seed)
    waits.push_back(answer.wait_s->mean.median);
  std::sort(waits.begin(), waits.end());
  const auto judged = [&](double bound, int seeds) {
    const FleetFile file = load(queue(1, R"("expect": [{"quantity": "/wait_s/mean", "at_most": )" +
                                             std::to_string(bound) + "}], "));
    const auto found = judged_fleet_expectations(file, run(file, seeds));
    REQUIRE(found.size() == 1);
    const CheckCase it = case_of(found.front(), *file.document, {});
    return std::pair(found.front(), it.state);
  };
  const auto between = judged((waits[3] + waits[4]) / 2, 5);
  CHECK_THAT(between.first.chance.value(), test::is(0.2));
  CHECK(between.first.problem.empty());
  CHECK(between.second == CheckState::undecided);
  CHECK(judged(waits[4] + 1, 5).second == CheckState::passed);
  CHECK(judged(waits[0] / 2, 5).second == CheckState::failed);
  CHECK_FALSE(judged(waits[0] / 2, 1).first.chance);
}

TEST_CASE("two fleets are compared seed by seed", "[fleet]")
{
  const test::TextFile trace("points.swf", kTrace);
  const FleetComparison policies =
      compared(load(replay(trace, "")), load(replay(trace, R"("policy": "easy", )")), 3);
  REQUIRE(policies.pairs.size() == 1);
  const FleetComparedPair& pair = policies.pairs.front();
  REQUIRE(pair.differs.size() == 1);
  CHECK(pair.differs.front().pointer == "/policy");
  CHECK(pair.differs.front().a.is_null());
  const FleetComparedQuantity& wait = quantity(pair, "/wait_s/mean");
  CHECK_THAT(wait.a.median, test::is((99 + 148) / 3.0));
  CHECK_THAT(wait.b.median, test::is(33));
  CHECK_THAT(wait.difference.median, test::is(-148 / 3.0));
  CHECK(wait.b_less == 3);
  CHECK(wait.b_more == 0);
  CHECK_THAT(quantity(pair, "/makespan_s").difference.high, test::is(-30));
  CHECK(policies.warnings.empty());
  CHECK_THAT(fleet_comparison_table(policies),
             Catch::Contains("/policy: (default) -> easy") && Catch::Contains("3 of 3"));
  CHECK_THAT(fleet_comparison_csv(policies), Catch::Contains("\r\n/makespan_s,180,180,180,150,150,"
                                                             "150,-30,-30,-30,0.9,3,0,3\r\n"));
}

TEST_CASE("differences are of the same seed: what both draw alike cancels", "[fleet]")
{
  const FleetComparison alike = compared(load(queue(1)), load(queue(1)), 8);
  const FleetComparedQuantity& none = quantity(alike.pairs.front(), "/wait_s/mean");
  CHECK(none.a.low < none.a.high);
  CHECK(none.difference.low == 0);
  CHECK(none.difference.high == 0);
  CHECK(none.b_less + none.b_more == 0);
  // All times twice as long: each wait is, too, and B less A is A in each seed.
  const FleetComparison twice = compared(load(queue(1)), load(queue(2)), 8);
  const FleetComparedQuantity& wait = quantity(twice.pairs.front(), "/wait_s/mean");
  CHECK_THAT(wait.difference.median / wait.a.median, Catch::Matchers::WithinRel(1.0, 1e-6));
  CHECK_THAT(wait.difference.low / wait.a.low, Catch::Matchers::WithinRel(1.0, 1e-6));
  CHECK_THAT(wait.difference.high / wait.a.high, Catch::Matchers::WithinRel(1.0, 1e-6));
  CHECK(wait.b_more == 8);
  REQUIRE(twice.warnings.size() == 1);
  CHECK_THAT(twice.warnings.front(), Catch::Contains("jobs of A and B differ"));
}

TEST_CASE("points of two sweeps are compared where their settings agree", "[fleet]")
{
  const test::TextFile trace("points.swf", kTrace);
  const FleetFile sweep =
      load(replay(trace, R"("sweep": {"/policy": ["fifo", "easy"], "/cluster/nodes": [4, 6]}, )"));
  const FleetFile easy =
      load(replay(trace, R"("policy": "easy", "sweep": {"/cluster/nodes": [4, 6, 8]}, )"));
  const FleetComparison all = compared(sweep, easy);
  REQUIRE(all.pairs.size() == 2); // those that are easy
  CHECK(all.unmatched.a == 2);
  CHECK(all.unmatched.b == 1);
  CHECK(quantity(all.pairs.front(), "/wait_s/mean").difference.median == 0);
  CHECK_THAT(fleet_comparison_table(all), Catch::Contains("B - A wait mean"));
  const FleetComparison chosen = compared(sweep, load(replay(trace, R"("policy": "easy", )")), 1,
                                          {"/cluster/nodes=6", "/policy=fifo"});
  REQUIRE(chosen.pairs.size() == 1);
  CHECK_THAT(quantity(chosen.pairs.front(), "/wait_s/mean").difference.median,
             test::is(33 - 49 / 3.0));
  CHECK_THROWS_WITH(compared(sweep, easy, 1, {"/policy=las"}), Catch::Contains("no point of 'A'"));
}

TEST_CASE("what no job has that ran is no 0 in tables, comparisons and expectations", "[fleet]")
{
  // Two GPUs are too few for any job; with four all run.
  const std::string arrivals = R"("arrivals": {"process": "even", "per_hour": 1, "until": "2.5 h",
    "mix": [{"gpus": 4, "run_time": "1 h"}]}})";
  const FleetFile sweep = load(R"({"name": "f", "cluster": {"nodes": 4, "gpus_per_node": 1},
    "sweep": {"/cluster/nodes": [2, 4]},
    "expect": [{"quantity": "/wait_s/p90", "at_most": 60}], )" +
                               arrivals);
  const FleetSweepAnswer answer = fleet_sweep_answer(sweep, run(sweep, 2));
  CHECK_THAT(fleet_points_table(answer),
             Catch::Contains("2              -         -           - ") &&
                 Catch::Contains("4            0 s       0 s  0 s to 0 s"));
  CHECK_THAT(fleet_points_csv(answer),
             Catch::Contains("\r\n1,2,2,2,0,0,2,0,0,0,0,3600,3600,3600,,,,"));
  CHECK_THAT(fleet_points_html(answer),
             Catch::Contains(R"(<td class="number" data-label="wait p90">-</td>)") &&
                 Catch::Contains(">0 s</td>"));
  const auto judged = judged_fleet_expectations(sweep, run(sweep, 2));
  REQUIRE(judged.size() == 2);
  CHECK_THAT(judged[0].problem, Catch::Contains("tells nothing"));
  CHECK(judged[1].problem.empty());
  const FleetComparison both = compared(sweep, load(R"({"cluster": {"nodes": 4, "gpus_per_node": 1},
    "sweep": {"/cluster/nodes": [2, 4]}, )" + arrivals));
  REQUIRE(both.pairs.size() == 2);
  CHECK(both.pairs[0].quantities.size() + 12 == both.pairs[1].quantities.size());
  CHECK_THAT(fleet_comparison_table(both), Catch::Contains("2                -            -"));
  const FleetComparison one_side =
      compared(load(R"({"cluster": {"nodes": 2, "gpus_per_node": 1}, )" + arrivals),
               load(R"({"cluster": {"nodes": 4, "gpus_per_node": 1}, )" + arrivals));
  CHECK(one_side.pairs[0].quantities.size() == both.pairs[0].quantities.size());
  // Seeds to which nobody comes pair nothing.
  const FleetFile few = load(R"({"cluster": {"nodes": 1, "gpus_per_node": 1}, "arrivals": {
    "per_hour": 0.5, "until": "1 h", "mix": [{"gpus": 1, "run_time": "1 h"}]}})");
  const FleetComparison seeds = compared(few, few, 10);
  CHECK(quantity(seeds.pairs.front(), "/completion_s/mean").difference.high == 0);
}

TEST_CASE("an expectation of a queue's jobs is violated by seeds in which none of them ran",
          "[fleet]")
{
  const auto judged = [](const std::string& gpus, const std::string& quantity) {
    const FleetFile file = load(R"({"cluster": {"nodes": 2, "gpus_per_node": 4},
      "queues": [{"name": "a"}, {"name": "b"}], "arrivals": {"per_hour": 1, "until": "4 h", "mix": [
        {"share": 9, "queue": "a", "gpus": 1, "run_time": "1 h"},
        {"share": 1, "queue": "b", "gpus": )" +
                                gpus + R"(, "run_time": "1 h"}]},
      "expect": [{"quantity": ")" +
                                quantity + R"(", "at_most": 1e9}]})");
    return judged_fleet_expectations(file, run(file, 20)).front();
  };
  for (const char* quantity : {"/by_queue/b/wait_s/p90", "/by_size/5-8/completion_s/mean"}) {
    const JudgedExpectation some = judged("8", quantity);
    CHECK(some.problem.empty());
    CHECK(some.chance.value() > 0.2);
    CHECK(some.chance.value() < 0.95);
  }
  CHECK_THAT(judged("9", "/by_queue/b/wait_s/p90").problem, Catch::Contains("tells nothing"));
  CHECK_THROWS_WITH(judged("8", "/by_queue/c/wait_s/p90"),
                    Catch::Contains("is no number or range"));
}

TEST_CASE("costs of two fleets are compared where they are in one currency", "[fleet]")
{
  const auto in = [](const std::string& currency) {
    return load(R"({"cluster": {"nodes": 1, "gpus_per_node": 1, "price_per_gpu_hour": 2)" +
                currency + R"(}, "arrivals": {"process": "even", "per_hour": 1,
      "until": "1.5 h", "mix": [{"gpus": 1, "run_time": "1 h"}]}})");
  };
  const auto has_cost = [](const FleetComparison& it) {
    const auto& all = it.pairs.front().quantities;
    return std::any_of(all.begin(), all.end(), [](const auto& q) { return q.quantity == "/cost"; });
  };
  const std::string euro = R"(, "currency": "EUR")";
  const FleetComparison same = compared(in(euro), in(euro));
  CHECK(has_cost(same));
  CHECK(same.pairs.front().currency == "EUR");
  CHECK_THAT(fleet_comparison_table(same), Catch::Contains("cost, EUR"));
  const FleetComparison other = compared(in(euro), in(""));
  CHECK(!has_cost(other));
  CHECK_THAT(fleet_comparison_table(other),
             Catch::Contains("costs of A are in EUR, of B in no currency: they are not compared"));
}

TEST_CASE("jobs that never run wait for ever", "[fleet]")
{
  FleetRun run;
  const auto add = [&](double wait) {
    run.workload.jobs.emplace_back();
    run.workload.jobs.back().submit = Seconds(100);
    run.result.jobs.emplace_back();
    run.result.jobs.back().start = Seconds(100 + wait);
  };
  CHECK(wait_p90_of_all(run) == 0);
  for (int i = 0; i < 10; ++i)
    add(i);
  CHECK_THAT(wait_p90_of_all(run), test::is(8.1));
  add(10);
  run.result.jobs.back().start = models::fleet::kNever;
  CHECK_THAT(wait_p90_of_all(run), test::is(9));
  run.result.jobs[3].start = models::fleet::kNever;
  CHECK(std::isinf(wait_p90_of_all(run)));
  const FleetFile small = load(R"({"cluster": {"nodes": 1, "gpus_per_node": 2}, "arrivals":
    {"per_hour": 1, "until": "20 h", "mix": [{"gpus": 4, "run_time": "1 h"}]}})");
  CHECK(never_run(
            experiments::run_fleet_points(small.points, {1, 1, false, {}}).front().answer.jobs) >
        0);
}

TEST_CASE("quantities have columns, values and changes with their units", "[fleet]")
{
  CHECK(fleet_quantity("/wait_s/p90").column() == "wait_s_p90");
  CHECK_THROWS_AS(fleet_quantity("/waits"), std::logic_error);
  CHECK(quantity_change(fleet_quantity("/wait_s/p90"), -7200) == "-2.0 h");
  CHECK(quantity_change(fleet_quantity("/goodput"), 0.031) == "+3.1 points");
  CHECK(quantity_change(fleet_quantity("/goodput"), 1e-9) == "0.0 points");
  CHECK(quantity_range(fleet_quantity("/cost"), {5, 4, 6, 0.9}) == "5.00 (4.00 to 6.00)");
  CHECK(short_pointers({"/cluster/nodes", "/policy", "/a/x", "/b/x", "/arrivals/mix/0"}) ==
        std::vector<std::string>{"nodes", "policy", "a/x", "b/x", "arrivals/mix/0"});
}

} // namespace foretrain::fleet_points_test
