#include "experiments/validate/fleet_rows.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <fstream>

namespace foretrain::fleet_rows_test {

using namespace foretrain::experiments;

namespace {

// A job of two hours that comes at once, on a node: its completion is linear in its work.
constexpr const char* kFleet =
    R"({"cluster": {"nodes": 1, "gpus_per_node": 1},
        "arrivals": {"process": "even", "per_hour": 1, "until": "1.5 h",
                     "mix": [{"gpus": 1, "run_time": "2 h"}]}SWEEP})";

std::vector<FleetRowVerdict> judged(const std::string& row, const std::string& sweep = "")
{
  const auto folder = std::filesystem::temp_directory_path() / "foretrain-fleet-rows";
  std::filesystem::create_directories(folder);
  std::string fleet = kFleet;
  fleet.replace(fleet.find("SWEEP"), 5, sweep.empty() ? "" : ", \"sweep\": " + sweep);
  std::ofstream(folder / "one.json") << fleet;
  std::ofstream(folder / "rows.json") << R"({"format": "foretrain.fleet-rows/1", "name": "test",
    "rows": [{"id": "a", "says": "b", "reference": "formula", "source": "c", "fleet": "one.json", )"
                                      << row << "}]}";
  const auto verdicts =
      judge_fleet_rows(load_fleet_rows((folder / "rows.json").string()), [](int, int) {});
  std::filesystem::remove_all(folder);
  return verdicts;
}

std::string refused(const std::string& row, const std::string& sweep = "")
{
  try {
    judged(row, sweep);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST_CASE("a row about a number of the answer, and its share of another", "[fleet]")
{
  const auto whole = judged(R"("quantity": "/completion_s/mean", "value": 7200)").front();
  CHECK(whole.holds);
  CHECK_THAT(whole.found, test::is(7200));
  const auto share =
      judged(
          R"("quantity": "/makespan_s", "over": "/completion_s/mean", "value": 1.1, "within": 0.05)")
          .front();
  CHECK_THAT(share.found, test::is(1));
  CHECK_FALSE(share.holds);
  CHECK(judged(R"("quantity": "/makespan_s", "at_least": 7200)").front().holds);
  CHECK_FALSE(judged(R"("quantity": "/makespan_s", "at_least": 7201)").front().holds);
}

TEST_CASE("a row about how near each job's completion is", "[fleet]")
{
  const auto folder = std::filesystem::temp_directory_path() / "foretrain-fleet-completions";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "two.csv") << "job,took\n1,8000\n2,9000\n";
  std::ofstream(folder / "one.csv") << "job,took\n1,8000\n";
  // Two jobs of two hours that come an hour apart on one node take 7200 and 10800 s.
  const std::string row = R"("set": ["/arrivals/until=2.5 h"], "completions": ")" +
                          (folder / "two.csv").string() + R"(", "column": "took", )";
  const auto verdict = judged(row + R"("at_most": 0.15)").front();
  CHECK_THAT(verdict.found, test::is((0.1 + 0.2) / 2));
  CHECK(verdict.holds);
  CHECK_FALSE(judged(row + R"("at_most": 0.149)").front().holds);
  CHECK_THAT(refused(R"("set": ["/arrivals/until=2.5 h"], "completions": ")" +
                     (folder / "one.csv").string() + R"(", "column": "took", "at_most": 1)"),
             Catch::Contains("has 1 jobs, and the fleet 2"));
  CHECK_THAT(refused(row + R"("quantity": "/makespan_s", "at_most": 1)"),
             Catch::Contains("must have either a quantity, starts or completions"));
  CHECK_THAT(refused(row + R"("at_most": 1, "at_least": 0)"),
             Catch::Contains("must have either a value, at_least or at_most"));
  CHECK_THAT(refused(R"("quantity": "/makespan_s", "column": "a", "at_most": 1)"),
             Catch::Contains("must have a column beside starts or completions"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("a row about the best setting of a sweep", "[fleet]")
{
  const std::string times = R"({"/arrivals/mix/0/run_time": ["2 h", "300 min", "1 h"]})";
  const std::string best = R"("quantity": "/makespan_s", "best": "/arrivals/mix/0/run_time", )";
  const auto verdict = judged(best + R"("value": 18000)", times).front();
  CHECK(verdict.holds);
  CHECK_THAT(verdict.found, test::is(18000));
  // Numbers are taken as they are; of equal points the first.
  CHECK(judged(R"("quantity": "/makespan_s", "best": "/cluster/nodes", "value": 3)",
               R"({"/cluster/nodes": [3, 5]})")
            .front()
            .holds);
  CHECK_THAT(refused(R"("quantity": "/makespan_s", "best": "/cluster/nodes", "value": 1)", times),
             Catch::Contains("/cluster/nodes', which the fleet's sweep does not vary"));
  CHECK_THAT(refused(R"("quantity": "/makespan_s", "best": "/policy", "value": 1)",
                     R"({"/policy": ["fifo", "easy"]})"),
             Catch::Contains("/policy', which is no number"));
  CHECK_THAT(refused(R"("quantity": "/makespan_s", "value": 1)", times),
             Catch::Contains("the sweep of 'one.json' makes more"));
  CHECK_THAT(
      refused(R"("quantity": "/makespan_s", "over": "/ettr", "best": "/policy", "value": 1)"),
      Catch::Contains("must have a quantity and no 'over' beside 'best'"));
}

} // namespace foretrain::fleet_rows_test
