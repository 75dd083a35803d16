#include "experiments/fleet/kept_seeds.hpp"

#include "experiments/fleet/fleet_answer.hpp"
#include "experiments/fleet/fleet_points.hpp"
#include "experiments/fleet/seed_workers.hpp"
#include "sim/base/files.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folder.hpp"

#include <filesystem>

namespace foretrain::kept_seeds_test {

using namespace foretrain::experiments;

namespace {

struct Folder : test::Folder {
  Folder() : test::Folder("kept") {}
};

// Rare kinds, so that seeds know others in another order; checkpoints and failures.
const char* const kFleet = R"({
  "cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 3}, "policy": "easy",
  "arrivals": {"per_hour": 1.5, "until": "6 h", "mix": [
    {"share": 1, "steps": 15000, "job": {"model": "alexnet", "framework": "tensorflow-horovod", "batch_per_gpu": 128, "gpus": 3}},
    {"share": 1, "steps": 10000, "job": {"model": "resnet50", "framework": "tensorflow-horovod", "batch_per_gpu": 64, "gpus": 2}},
    {"share": 1, "gpus": 4, "run_time": "1 h"}]},
  "checkpoint": {"interval": "20 min", "write": "2 min"},
  "failures": {"per_1000_node_days": 2000, "repair": {"median": "1 h", "mean": "2 h"}}})";

FleetOptions options_with(KeptSeeds* kept, int seeds)
{
  FleetOptions options{1, seeds, true, {}};
  options.kept = kept;
  return options;
}

std::string told(const LoadedFleet& fleet, const std::vector<FleetRun>& runs)
{
  return written(fleet_answer(fleet, runs)).dump();
}

std::size_t files_in(const Folder& folder)
{
  const std::filesystem::directory_iterator all(folder.path());
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

} // namespace

TEST_CASE("a seed that is kept is not simulated again, and says the same", "[fleet][long]")
{
  const test::TextFile file("fleet.json", kFleet);
  const LoadedFleet fleet = load_fleet(file.path(), {}, "");
  const Folder folder;
  const std::string without = told(fleet, run_fleet(fleet, options_with(nullptr, 3)));
  for (const int jobs : {1, 2}) {
    KeptSeeds kept(folder.path());
    FleetOptions options = options_with(&kept, 3);
    options.jobs = jobs;
    const auto runs = run_fleet(fleet, options);
    CHECK(told(fleet, runs) == without);
    CHECK(kept.found() == (jobs == 1 ? 0 : 3));
    CHECK(files_in(folder) == 3);
    CHECK(!runs.front().result.spans.empty());
    CHECK(!runs.front().result.overheads.empty());
    CHECK(!runs.front().result.moments.empty());
  }
  KeptSeeds kept(folder.path()); // more seeds are those and others
  const auto more = run_fleet(fleet, options_with(&kept, 4));
  CHECK(kept.found() == 3);
  CHECK(told(fleet, more) == told(fleet, run_fleet(fleet, options_with(nullptr, 4))));
}

TEST_CASE("parts of the seeds are together all of them", "[fleet][long]")
{
  const test::TextFile file("fleet.json", kFleet);
  FleetFile fleets = load_fleet_file(file.path(), {"/sweep={\"/cluster/nodes\": [3, 4]}"}, "");
  REQUIRE(fleets.points.size() == 2);
  const Folder folder;
  constexpr std::size_t kParts = 4; // two seeds of each of two fleets: one each
  for (std::size_t i = 0; i < kParts; ++i) {
    KeptSeeds kept(folder.path());
    FleetOptions options = options_with(&kept, 2);
    options.part = {i, kParts};
    run_fleet_part(fleets.points, options);
    CHECK(kept.found() == 0);
    CHECK(files_in(folder) == i + 1);
  }
  KeptSeeds kept(folder.path());
  const FleetOptions options = options_with(&kept, 2);
  const auto runs = run_fleet_points(fleets.points, options);
  CHECK(kept.found() == 4);
  const auto anew = run_fleet_points(fleets.points, options_with(nullptr, 2));
  CHECK(written(fleet_sweep_answer(fleets, runs)).dump() ==
        written(fleet_sweep_answer(fleets, anew)).dump());
}

TEST_CASE("a damaged file of a seed counts for nothing", "[fleet]")
{
  const test::TextFile file("fleet.json", kFleet);
  const LoadedFleet fleet = load_fleet(file.path(), {}, "");
  const Folder folder;
  KeptSeeds first(folder.path());
  const std::string found = told(fleet, run_fleet(fleet, options_with(&first, 2)));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    std::string text = read_file(entry.path().string());
    text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
    write_file(entry.path().string(), text);
  }
  KeptSeeds kept(folder.path());
  CHECK(told(fleet, run_fleet(fleet, options_with(&kept, 2))) == found);
  CHECK(kept.found() == 0);
  CHECK(kept.damaged() == 2);
  KeptSeeds again(folder.path());
  run_fleet(fleet, options_with(&again, 2));
  CHECK(again.found() == 2);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    write_file(entry.path().string(), "short");
  KeptSeeds cut(folder.path());
  run_fleet(fleet, options_with(&cut, 2));
  CHECK(cut.damaged() == 2);
}

TEST_CASE("seeds are kept by all that they depend on", "[fleet]")
{
  const auto of = [](const std::vector<std::string>& set) {
    const test::TextFile file("fleet.json", kFleet);
    return fingerprint(load_fleet(file.path(), set, ""), true);
  };
  const std::string plain = of({});
  CHECK(of({"/name=other", "/seeds=7", "/seed=3"}) == plain);
  CHECK(of({"/cluster/nodes=4"}) != plain);
  CHECK(of({"/policy=fifo"}) != plain);
  CHECK(of({"/arrivals/mix/0/job/batch_per_gpu=64"}) != plain);
  const test::TextFile file("fleet.json", kFleet);
  LoadedFleet fleet = load_fleet(file.path(), {}, "");
  CHECK(fingerprint(fleet, false) != plain);
  fleet.interval_scale = 2;
  CHECK(fingerprint(fleet, true) != plain);
}

TEST_CASE("a seed is kept by what its trace says, not by the trace's name", "[fleet]")
{
  const test::TextFile trace("jobs.swf", "");
  const test::TextFile fleet(
      "fleet.json", R"({"cluster": {"nodes": 1, "gpus_per_node": 2}, "jobs": {"trace": ")" +
                        trace.path().filename().string() + R"(", "kind": "swf"}})");
  const auto of = [&](const std::string& run_time) {
    write_file(trace.path().string(), "1 0 0 " + run_time + " 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n");
    return fingerprint(load_fleet(fleet.path(), {}, ""), true);
  };
  const std::string hour = of("3600");
  CHECK(of("3601") != hour);
  CHECK(of("3600") == hour);
}

} // namespace foretrain::kept_seeds_test
