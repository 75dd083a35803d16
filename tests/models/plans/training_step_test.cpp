// Closed forms and properties of training steps; those that SimGrid's own model can check too are
// in oracle/.
#include "tests/models/ring_scene.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <map>
#include <set>

namespace foretrain::training_step_test {

using namespace foretrain::test;

TEST_CASE("a ring all-reduce takes 2(n-1)/n size / bandwidth and 2(n-1) latencies", "[closed-form]")
{
  for (const Fidelity fidelity : {Fidelity::coupled, Fidelity::edges, Fidelity::chunks})
    for (int n = 2; n <= 16; ++n) {
      const double size = 48.0 * 1024 * 1024 * n;
      CAPTURE(n, static_cast<int>(fidelity));
      RingScene scene(n, Sharing::plugged);
      CHECK_THAT(scene.all_reduce(Bytes(size), fidelity), test::is(ring_time(n, size)));
    }
}

TEST_CASE("what a protocol lets through one GPU holds at every fidelity", "[closed-form]")
{
  Library library = test_library();
  const double bus = kBandwidth / 4;
  library.protocols.front().bus_limits = {{0, BytesPerSecond(bus), {}, {}}};
  for (const Fidelity fidelity : {Fidelity::coupled, Fidelity::edges, Fidelity::chunks})
    for (const int n : {2, 3, 8}) {
      CAPTURE(n, static_cast<int>(fidelity));
      RingScene scene(n, Sharing::plugged);
      CHECK_THAT(scene.all_reduce(Bytes(16e6), fidelity, library),
                 test::is(ring_time(n, 0) + 2.0 * (n - 1) / n * 16e6 / bus));
    }
}

TEST_CASE("without overlap everything follows backward", "[closed-form]")
{
  JobScene scene(4, Sharing::plugged);
  const Collective collective(scene.engine, scene.comm, test_library(), Operation::all_reduce,
                              "ring");
  auto setup = scene.setup(&collective, 10.0_ms, {5.0_ms, 5.0_ms}, Bytes(8e6));
  setup.plan.framework.overlap = Overlap::none;
  const auto job_owned = scene.job(setup);
  ProgramJob& job = *job_owned;
  job.launch(nullptr);
  scene.engine.run();
  CHECK_THAT(job.step_times().back().value(), test::is(20e-3 + 2 * ring_time(4, 8e6)));
}

TEST_CASE("edges <= chunks <= coupled when a burst wanders over the ring", "[property]")
{
  const auto time = [](Fidelity fidelity) {
    RingScene scene(8, Sharing::plugged);
    for (int burst = 0; burst < 16; ++burst) {
      const auto path =
          sim::make_path({{scene.links[static_cast<std::size_t>(burst * 3 % 8)].value, 1.0}});
      scene.engine.at(Seconds(burst * 1e-3), [&scene, path] {
        scene.engine.start({path, 5e6, 1, "burst"}, nullptr);
      });
    }
    return scene.all_reduce(Bytes(80e6), fidelity);
  };
  const double edges = time(Fidelity::edges);
  const double chunks = time(Fidelity::chunks);
  const double coupled = time(Fidelity::coupled);
  CHECK(edges <= chunks * (1 + 1e-9));
  CHECK(chunks <= coupled * (1 + 1e-9));
  CHECK(edges < coupled);
}

TEST_CASE("a ring with late ranks ends at the last arrival plus its own time", "[closed-form]")
{
  JobScene scene(4, Sharing::plugged);
  const Collective collective(scene.engine, scene.comm, test_library(), Operation::all_reduce,
                              "ring");
  auto setup = scene.setup(&collective, 10.0_ms, {10.0_ms}, Bytes(8e6));
  setup.plan.framework.step_variation = 0.05;
  const auto job_owned = scene.job(setup);
  ProgramJob& job = *job_owned;
  job.launch(nullptr);
  scene.engine.run();
  Seconds last;
  for (const auto& it : job.last_step())
    if (it.name.rfind("backward", 0) == 0)
      last = std::max(last, it.finish);
  CHECK_THAT((job.last_end() - last).value(), test::is(ring_time(4, 8e6)));
}

TEST_CASE("every rank varies by itself, in forward and backward alike", "[property]")
{
  JobScene scene(4, Sharing::plugged);
  auto setup = scene.setup(nullptr, 10.0_ms, {10.0_ms}, Bytes(0));
  setup.plan.framework.step_variation = 0.05;
  const auto job_owned = scene.job(setup);
  ProgramJob& job = *job_owned;
  job.launch(nullptr);
  scene.engine.run();
  std::map<int, double> forward, backward;
  for (const auto& it : job.last_step())
    if (it.name != "optimizer")
      (it.name == "forward" ? forward : backward)[it.rank] = (it.finish - it.start).value();
  REQUIRE(forward.size() == 4);
  std::set<double> different;
  for (const auto& [rank, time] : forward) {
    different.insert(time);
    CHECK_THAT(backward.at(rank), test::is(time));
  }
  CHECK(different.size() == 4);
}

TEST_CASE("a collective takes its part of the GPUs as long as it runs", "[closed-form]")
{
  JobScene scene(4, Sharing::plugged);
  const Collective collective(scene.engine, scene.comm, test_library(), Operation::all_reduce,
                              "ring");
  auto setup = scene.setup(&collective, 10.0_ms, {5.0_ms, 5.0_ms}, Bytes(8e6));
  setup.plan.held = 0.25;
  const auto job_owned = scene.job(setup);
  ProgramJob& job = *job_owned;
  job.launch(nullptr);
  scene.engine.run();
  // The first bucket's runs beside the second layer, the second one's beside nothing.
  CHECK_THAT(job.step_times().back().value(), test::is(20e-3 + 1.25 * ring_time(4, 8e6)));
}

TEST_CASE("buckets wait for the framework's cycle", "[property]")
{
  JobScene scene(4, Sharing::plugged);
  const Collective collective(scene.engine, scene.comm, test_library(), Operation::all_reduce,
                              "ring");
  auto setup = scene.setup(&collective, 10.0_ms, {3.0_ms, 6.0_ms, 7.0_ms}, Bytes(8e6));
  setup.plan.framework.overlap = Overlap::buckets;
  setup.plan.framework.fusion_cycle = 5.0_ms;
  const auto job_owned = scene.job(setup);
  ProgramJob& job = *job_owned;
  job.launch(nullptr);
  scene.engine.run();
  // The thread wakes every 5 ms: exchanges that wait for nothing else begin so much apart.
  std::vector<double> begins;
  for (const auto& it : job.last_step())
    if (it.rank == 0 && it.size.value() > 0)
      begins.push_back(it.start.value());
  REQUIRE(begins.size() == 3);
  for (std::size_t b = 1; b < begins.size(); ++b) {
    const double cycles = (begins[b] - begins[b - 1]) / 5e-3;
    CHECK(cycles > 0.5);
    CHECK_THAT(cycles, Catch::Matchers::WithinAbs(std::round(cycles), 1e-6));
  }
}

TEST_CASE("a job that others keep running measures as many steps as it is to", "[property]")
{
  JobScene scene(2, Sharing::plugged);
  auto setup = scene.setup(nullptr, 10.0_ms, {10.0_ms}, Bytes(0));
  setup.schedule.keep_running = true;
  const auto job_owned = scene.job(setup);
  ProgramJob& job = *job_owned;
  job.launch([&] { scene.engine.after(0.1_s, [&] { job.stop(); }); });
  scene.engine.run();
  CHECK(job.step_times().size() == 3);
}

TEST_CASE("utilisation is that of measured steps", "[closed-form]")
{
  JobScene scene(4, Sharing::plugged);
  const Collective collective(scene.engine, scene.comm, test_library(), Operation::all_reduce,
                              "ring");
  auto setup = scene.setup(&collective, 1.0_ms, {1.0_ms}, Bytes(8e6));
  const auto job_owned = scene.job(setup);
  ProgramJob& job = *job_owned;
  job.launch(nullptr);
  scene.engine.run();
  CHECK_THAT(job.utilisation(scene.gpus[0]), test::is(2e-3 / (2e-3 + ring_time(4, 8e6))));
}

} // namespace foretrain::training_step_test
