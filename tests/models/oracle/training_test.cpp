// Closed forms of training steps, on our flow model and on SimGrid's own.
#include "tests/models/ring_scene.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/isolated.hpp"

namespace foretrain::training_test {

using namespace foretrain::test;

TEST_CASE("SimGrid's own model gives the same ring all-reduce, chunk by chunk",
          "[closed-form][oracle]")
{
  for (int n = 2; n <= 16; ++n) {
    const double size = 1e6 * n;
    CAPTURE(n);
    const auto time = isolated([&] {
      RingScene scene(n, Sharing::native);
      return std::vector<double>{scene.all_reduce(Bytes(size), Fidelity::chunks)};
    });
    CHECK_THAT(time[0], test::is(ring_time(n, size)));
  }
}

TEST_CASE("two jobs on the same links take twice as long, on both models", "[closed-form][oracle]")
{
  for (const Sharing sharing : {Sharing::plugged, Sharing::native}) {
    const auto times = isolated([&] {
      RingScene scene(4, sharing);
      std::vector<double> ends;
      std::vector<sim::TaskId> flows;
      const Collective collective(scene.engine, scene.comm, test_library(), Operation::all_reduce,
                                  "ring");
      sim::TaskGraph a(scene.engine, "a");
      sim::TaskGraph b(scene.engine, "b");
      const auto add = [&](sim::TaskGraph& graph) {
        return collective.add(graph, graph.add_join("begin"), Bytes(8e6), 0, Fidelity::chunks,
                              flows);
      };
      const auto end_a = add(a);
      const auto end_b = add(b);
      a.start(nullptr);
      b.start(nullptr);
      scene.engine.run();
      return std::vector<double>{a.finished(end_a).value(), b.finished(end_b).value()};
    });
    const double latency = kCall + 6 * (kStep + kHopLatency);
    CHECK_THAT(times[0], test::is(latency + 2 * 1.5 * 8e6 / kBandwidth));
    CHECK_THAT(times[1], test::is(times[0]));
  }
}

TEST_CASE("communication hides behind backward, or shows what is left of it",
          "[closed-form][oracle]")
{
  // Fidelity chunks: whole-number weights, which SimGrid's own model needs.
  for (const Sharing sharing : {Sharing::plugged, Sharing::native}) {
    const auto steps = isolated([&] {
      std::vector<double> result;
      JobScene scene(4, sharing);
      const Collective collective(scene.engine, scene.comm, test_library(), Operation::all_reduce,
                                  "ring");
      auto hidden = scene.setup(&collective, 10.0_ms, {5.0_ms, 5.0_ms}, Bytes(8e6)); // 1.2 ms each
      auto shown = scene.setup(&collective, 10.0_ms, {1.0_ms, 1.0_ms}, Bytes(80e6)); // 12 ms each
      hidden.fidelity = shown.fidelity = Fidelity::chunks;
      shown.schedule.start = Seconds(10);
      const auto a_owned = scene.job(hidden);
      ProgramJob& a = *a_owned;
      const auto b_owned = scene.job(shown);
      ProgramJob& b = *b_owned;
      a.launch(nullptr);
      b.launch(nullptr);
      scene.engine.run();
      for (const ProgramJob* job : {&a, &b}) {
        result.push_back(job->step_times().back().value());
        result.push_back(job->mean_times().exposed_communication.value());
        result.push_back(job->mean_times().total().value());
      }
      return result;
    });
    const double small = ring_time(4, 8e6);
    const double large = ring_time(4, 80e6);
    CHECK_THAT(steps[0], test::is(20e-3 + small)); // only the last bucket shows
    CHECK_THAT(steps[1], test::is(small));
    CHECK_THAT(steps[3], test::is(11e-3 + 2 * large)); // one after the other, from 11 ms on
    CHECK_THAT(steps[4], test::is(2 * large - 1e-3));
    CHECK_THAT(steps[2], test::is(steps[0])); // the parts add up to the step
    CHECK_THAT(steps[5], test::is(steps[3]));
  }
}

TEST_CASE("a synchronous step waits for its slowest rank", "[closed-form][oracle]")
{
  for (const Sharing sharing : {Sharing::plugged, Sharing::native}) {
    const auto result = isolated([&] {
      // GPU 2 is shared with another process: it gets half of it.
      JobScene scene(4, sharing);
      const Collective collective(scene.engine, scene.comm, test_library(), Operation::all_reduce,
                                  "ring");
      auto setup = scene.setup(&collective, 10.0_ms, {10.0_ms}, Bytes(8e6));
      setup.fidelity = Fidelity::chunks;
      const auto job_owned = scene.job(setup);
      ProgramJob& job = *job_owned;
      const auto neighbour = sim::make_path({{scene.gpus[2].value, 1.0}}, {}, 1.0);
      scene.engine.declare(neighbour);
      scene.engine.start({neighbour, 10.0, sim::kKernelPriority, "neighbour"}, nullptr);
      job.launch(nullptr);
      scene.engine.run();
      return std::vector<double>{job.step_times().front().value(),
                                 job.mean_times().straggler_wait.value()};
    });
    CHECK_THAT(result[0], test::is(40e-3 + ring_time(4, 8e6)));
    CHECK_THAT(result[1], test::is(0.75 * 20e-3)); // three of four ranks wait
  }
}

} // namespace foretrain::training_test
