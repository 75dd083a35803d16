// What checkpoints of a fleet's jobs hold.
#include "experiments/fleet/fleet.hpp"
#include "experiments/fleet/fleet_answer.hpp"
#include "experiments/fleet/fleet_setting.hpp"
#include "tests/experiments/fleet/speed_tables.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::checkpoint_size_test {

using namespace foretrain::experiments;
using test::job;
using test::kAlexnet;
using test::table_of;

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
  SpeedTable table = table_of("dgx-a100", {4, 8, 0});
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
  CHECK_THROWS_WITH(hours(R"({"gpus": 4, "run_time": "1 h"})", R"("bytes_per_gpu": "1 GB")"),
                    Catch::Contains("must have write, or rate"));
}

TEST_CASE("a checkpoint of Muon has Adam's moments of embedding and logits", "[fleet]")
{
  SpeedTable table = table_of("hgx-h100", {8, 8, 0});
  const auto kind = table.kind({job(R"({"model": "llama-3-8b", "framework": "nemo",
    "precision": "bf16", "optimizer": "muon", "global_batch": 64, "parallel": {"zero": 1}})"),
                                64});
  const double tables = 2 * 128256 * 4096.0;
  const double bytes = table.checkpoint_bytes(kind).value().value();
  CHECK_THAT(bytes, Catch::WithinRel(10 * 8.03e9 + 4 * tables, 1e-3)); // 2 + 4 + 4, and 4 more
}

TEST_CASE("a checkpoint of adapters has them alone", "[fleet]")
{
  SpeedTable table = table_of("dgx-a100", {1, 8, 0});
  const auto kind = table.kind({job(R"({"model": "gpt3-1.7b", "framework": "megatron",
    "precision": "bf16", "global_batch": 32, "lora": {"rank": 16}})"),
                                8});
  // Rank times inputs and outputs: of 24 layers h to 3h, h to h, h to 4h and 4h to h.
  const double trained = 24 * 16 * (4 + 2 + 5 + 5) * 2304.0;
  CHECK_THAT(table.checkpoint_bytes(kind).value().value(), test::is(14 * trained));
}

} // namespace foretrain::checkpoint_size_test
