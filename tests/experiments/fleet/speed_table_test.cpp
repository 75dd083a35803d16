#include "experiments/fleet/speed_table.hpp"

#include "experiments/fleet/fleet.hpp"
#include "experiments/fleet/fleet_answer.hpp"
#include "experiments/run/scenario.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

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

TEST_CASE("a checkpoint has what a job trains, with its optimizer's state", "[fleet]")
{
  const auto hours = [](const std::string& mix, const std::string& checkpoint) {
    const test::TextFile file(
        "written.json", R"({
      "cluster": {"platform": "dgx-a100", "nodes": 4},
      "arrivals": {"process": "even", "per_hour": 1, "until": "1.5 h", "mix": [)" +
                            mix + R"(]}, "checkpoint": {"interval": "60 s", )" + checkpoint + "}}");
    const LoadedFleet fleet = load_fleet(file.path(), {}, "");
    const FleetAnswer found = fleet_answer(fleet, run_fleet(fleet, {1, 1, false, {}}));
    return found.gpu_hours.checkpoint.median / found.gpu_hours.productive.median;
  };
  // Writes of each 60 s of work; the last piece has none.
  const auto writes = [](double bytes, double rate, double steps_s) {
    return std::floor(steps_s / 60) * bytes / rate / steps_s;
  };
  // Megatron's mixed precision with Adam: 2 + 4 + 4 + 4 bytes for each of the parameters, of which
  // 24 layers have 12 h^2 + 13 h each (arXiv:2104.04473, equation 2).
  const std::string gpt = R"({"job": {"model": "gpt3-1.7b", "framework": "megatron",
    "precision": "bf16", "global_batch": 32, "gpus": 8}, "steps": 1000})";
  SpeedTable table({parse_document("{}", "fleet"), {{"platform", "dgx-a100"}}, nullptr, {4, 8, 0}});
  const auto document = parse_document(gpt, "job");
  const auto kind = table.kind({Value{DocumentPtr(document)}.at("job"), 8});
  const double bytes = table.checkpoint_bytes(kind).value().value();
  const double h = 2304;
  CHECK_THAT(bytes / 14, Catch::WithinRel(24 * (12 * h * h + 13 * h) + (51200 + 2048) * h, 1e-4));
  const double work = 1000 * 32 / table.reference(kind);
  CHECK_THAT(hours(gpt, R"("rate": "2 GB/s")"), test::is(writes(bytes, 2e9, work)));
  CHECK_THAT(hours(gpt, R"("rate": "2 GB/s", "bytes_per_gpu": "1 GB")"),
             test::is(writes(8e9, 2e9, work)));
  // A network's: weights and momentum in single precision.
  const auto alexnet = table.kind({job(kAlexnet), 4});
  CHECK(table.checkpoint_bytes(alexnet).value() == Bytes(61842345.0 * 8));
  CHECK_FALSE(table.checkpoint_bytes(kNoSpeed));
  CHECK_THROWS_WITH(hours(R"({"gpus": 4, "run_time": "1 h"})", R"("rate": "2 GB/s")"),
                    Catch::Contains("/checkpoint/bytes_per_gpu is missing: job 1 has no model"));
  CHECK_THROWS_WITH(hours(gpt, R"("bytes_per_gpu": "1 GB")"),
                    Catch::Contains("must have write, or rate"));
}

TEST_CASE("a checkpoint of adapters has them alone", "[fleet]")
{
  SpeedTable table({parse_document("{}", "fleet"), {{"platform", "dgx-a100"}}, nullptr, {1, 8, 0}});
  const auto kind = table.kind({job(R"({"model": "gpt3-1.7b", "framework": "megatron",
    "precision": "bf16", "global_batch": 32, "lora": {"rank": 16}})"),
                                8});
  // Rank times inputs and outputs: of 24 layers h to 3h, h to h, h to 4h and 4h to h.
  const double trained = 24 * 16 * (4 + 2 + 5 + 5) * 2304.0;
  CHECK_THAT(table.checkpoint_bytes(kind).value().value(), test::is(14 * trained));
}
