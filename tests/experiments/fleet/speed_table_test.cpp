#include "experiments/fleet/speed_table.hpp"

#include "experiments/fleet/fleet.hpp"
#include "experiments/fleet/fleet_answer.hpp"
#include "experiments/run/scenario.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

using namespace foretrain;
using namespace foretrain::experiments;

namespace {

const char* const kAlexnet = R"({"model": "alexnet", "framework": "tensorflow-horovod",
                                 "batch_per_gpu": 128})";
const char* const kResnet = R"({"model": "resnet50", "framework": "tensorflow-horovod",
                                "precision": "fp16", "batch_per_gpu": 128})";

Value job(const char* text)
{
  return Value{DocumentPtr(parse_document(text, "job"))};
}

// What predict says of the jobs of an experiment on C4140 nodes.
std::vector<double> predicted(const std::string& jobs, int nodes)
{
  Point point;
  point.document = parse_document(R"({"cluster": {"platform": "c4140-k-v100-sxm2", "nodes": )" +
                                      std::to_string(nodes) + R"(}, "jobs": [)" + jobs + "]}",
                                  "test");
  std::vector<double> throughputs;
  for (const JobResult& result : run_point(point, {}).jobs)
    throughputs.push_back(result.throughput.median);
  return throughputs;
}

SpeedTable table_of_c4140(int nodes)
{
  return SpeedTable(
      {parse_document("{}", "fleet"), {{"platform", "c4140-k-v100-sxm2"}}, nullptr, {nodes, 4, 0}});
}

std::string with(const char* text, const std::string& more)
{
  std::string whole = text;
  whole.insert(1, more + ", ");
  return whole;
}

} // namespace

TEST_CASE("a job alone in a fleet has exactly the rate that predict says", "[fleet]")
{
  SpeedTable table = table_of_c4140(3);
  const auto kind = table.kind({job(kAlexnet), 6});
  const auto expected = predicted(
      with(kAlexnet, R"("gpus": 6, "placement": [[0,0],[0,1],[0,2],[0,3],[1,0],[1,1]])"), 2);
  CHECK(table.reference(kind) == expected[0]);
  // It does not matter which nodes it has.
  CHECK(table.throughputs({kind}, {{{1, 15}, {2, 3}}})[0] == expected[0]);
  CHECK(table.situations() == 1);
  CHECK(table.step_samples(kind) == 6 * 128);
  CHECK(table.epoch_samples(kind) == 1281167); // of ImageNet
}

TEST_CASE("two jobs that share a node have exactly the rates that predict says of both", "[fleet]")
{
  SpeedTable table = table_of_c4140(2);
  const auto a = table.kind({job(kAlexnet), 4}), b = table.kind({job(kResnet), 4});
  const auto expected = predicted(
      with(kAlexnet, R"("name": "a", "gpus": 4, "placement": [[0,0],[0,1],[1,0],[1,1]])") + ", " +
          with(kResnet, R"("name": "b", "gpus": 4, "placement": [[0,2],[0,3],[1,2],[1,3]])"),
      2);
  const auto found = table.throughputs({a, b}, {{{0, 3}, {1, 3}}, {{0, 12}, {1, 12}}});
  CHECK(found == expected);
  CHECK(found[0] < 0.999 * table.throughputs({a}, {{{0, 3}, {1, 3}}})[0]);
  // Nor who came first.
  const auto turned = table.throughputs({b, a}, {{{1, 12}, {0, 12}}, {{1, 3}, {0, 3}}});
  CHECK(turned == std::vector<double>{expected[1], expected[0]});
  CHECK(table.situations() == 2);
}

TEST_CASE("jobs of a fleet slow each other down as simulated", "[fleet]")
{
  const test::TextFile file("simulated.json", R"({
    "cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 2},
    "policy": {"placement": "spread"},
    "arrivals": {"process": "even", "per_hour": 3600, "until": "2.5 s", "mix": [
      {"job": {"model": "alexnet", "framework": "tensorflow-horovod", "batch_per_gpu": 128,
               "gpus": 4}, "steps": 10000}]}})");
  const LoadedFleet fleet = load_fleet(file.path(), {}, "");
  const auto runs = run_fleet(fleet, {1, 1, false, {}});
  const FleetAnswer found = fleet_answer(fleet, runs);
  REQUIRE(found.jobs.completed == 2);
  CHECK(found.situations.value() == 4); // packed, each spread alone, both beside each other
  CHECK(found.gpu_hours.contended.median > 0.01 * found.gpu_hours.productive.median);
  SpeedTable table = table_of_c4140(2);
  const auto kind = table.kind({job(kAlexnet), 4});
  CHECK_THAT(found.gpu_hours.productive.median,
             test::is(2 * 4 * 10000 * 4 * 128 / table.reference(kind) / 3600));
}
