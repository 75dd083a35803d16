// Stages of the input against closed forms: a batch takes as long as the slowest stage.
#include "models/input/input_pipeline.hpp"

#include "models/input/dataset.hpp"
#include "tests/models/ring_scene.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <functional>
#include <list>
#include <numeric>
#include <random>

namespace foretrain::input_pipeline_test {

using namespace foretrain::models;
using namespace foretrain::test;

namespace {

// One GPU fed by three stages on resources of their own, which take the given times per batch.
struct Fed {
  sim::Engine engine;
  std::vector<InputStage> stages;
  sim::ResourceId gpu;

  explicit Fed(std::vector<double> seconds, int last_room = 1) : gpu(engine.add_resource("gpu", 1))
  {
    const char* names[] = {"read", "decode", "copy"};
    for (std::size_t k = 0; k < seconds.size(); ++k) {
      const auto id = engine.add_resource(names[k], 1.0);
      InputStage stage;
      stage.name = names[k];
      stage.path = sim::make_path({{id.value, 1.0}}, {});
      stage.amount = seconds[k];
      stage.room = k + 1 == seconds.size() ? last_room : 2;
      stages.push_back(stage);
    }
  }

  SceneJob setup(double compute) const
  {
    SceneJob s;
    s.plan.name = "job";
    s.plan.profile.layers.push_back({Seconds(compute), Seconds(0)});
    s.plan.framework.step_variation = 0;
    s.schedule.warmup_steps = 8;
    s.schedule.measured_steps = 5;
    s.input = {stages};
    return s;
  }
};

StepTimes run(Fed& fed, double compute, std::vector<Seconds>* steps = nullptr)
{
  const auto job = make_job(fed.engine, {fed.gpu}, fed.setup(compute));
  job->launch(nullptr);
  fed.engine.run();
  if (steps != nullptr)
    *steps = job->step_times();
  return job->mean_times();
}

} // namespace

TEST_CASE("A step takes as long as the slowest of reading, decoding, copying and computing")
{
  const std::vector<std::vector<double>> cases = {
      {0.1, 0.2, 0.05, 0.4}, {0.1, 0.5, 0.05, 0.4}, {0.7, 0.2, 0.05, 0.4}, {0.1, 0.2, 0.9, 0.4}};
  for (const auto& t : cases) {
    Fed fed({t[0], t[1], t[2]});
    std::vector<Seconds> steps;
    const StepTimes mean = run(fed, t[3], &steps);
    for (const Seconds step : steps)
      CHECK(step.value() == Approx(*std::max_element(t.begin(), t.end())).epsilon(1e-9));
    CHECK(mean.total().value() == Approx(*std::max_element(t.begin(), t.end())).epsilon(1e-9));
    CHECK(mean.compute.value() == Approx(t[3]).epsilon(1e-9));
  }
}

TEST_CASE("Time that a GPU waits for a copy is told apart from time that it waits for a batch")
{
  Fed ahead({0.1, 0.5, 0.2});
  const StepTimes mean = run(ahead, 0.1); // decoding limits: the copy follows it, then computing
  CHECK(mean.host_to_device.value() == Approx(0.2).epsilon(1e-9));
  CHECK(mean.input_stall.value() == Approx(0.2).epsilon(1e-9));
  Fed on_demand({0.1, 0.2, 0.15}, 0);
  const StepTimes exposed = run(on_demand, 0.4);
  CHECK(exposed.host_to_device.value() == Approx(0.15).epsilon(1e-9));
  CHECK(exposed.input_stall.value() == Approx(0.0).margin(1e-9));
}

TEST_CASE("Stages work ahead as far as there is room, and no further")
{
  Fed fed({0.1, 0.2, 0.05}); // room for two batches, two and one
  InputPipeline pipeline(fed.engine, fed.stages);
  pipeline.start();
  fed.engine.run();
  CHECK(pipeline.uses()[2].busy.value() == Approx(1 * 0.05));
  CHECK(pipeline.uses()[1].busy.value() == Approx((1 + 2) * 0.2));
  CHECK(pipeline.uses()[0].busy.value() == Approx((1 + 2 + 2) * 0.1));
}

TEST_CASE("Batches made ready before do not hide that input has become slow")
{
  // Room for sixty batches, all ready when others take three quarters of the decoding: half a
  // batch too few in each step, which without following the trend lasts for 120 steps.
  for (const double left : {1.0, 0.25}) {
    Fed fed({0.1, 0.5, 0.05});
    fed.stages[1].room = 60;
    SceneJob scene = fed.setup(1.0);
    scene.schedule.measure_from = Seconds(200);
    const auto job = make_job(fed.engine, {fed.gpu}, scene);
    const auto decode = sim::ResourceId{fed.stages[1].path->uses.front().resource};
    fed.engine.at(Seconds(200), [&] { fed.engine.set_capacity(decode, left); });
    job->launch(nullptr);
    fed.engine.run();
    const double expected = std::max(1.0, 0.5 / left);
    for (const Seconds step : job->step_times())
      CHECK(step.value() == Approx(expected).epsilon(1e-9));
    CHECK(job->first_measured_start().value() < 200 + 20 * expected);
  }
}

TEST_CASE("The trend of batches made ready is what many steps would show")
{
  // One batch is taken a second. Seconds of decoding; batches after so many steps, at most sixty.
  for (const auto& [decode, trend] :
       std::vector<std::pair<double, int>>{{0.9, 1}, {1.0, 0}, {1.1, -1}, {3.0, -1}}) {
    Fed fed({0.1, decode, 0.05});
    fed.stages[1].room = 60;
    InputPipeline pipeline(fed.engine, fed.stages);
    int taken = 0;
    const std::function<void()> take = [&] {
      if (++taken < 30)
        fed.engine.after(Seconds(1), [&] { pipeline.fetch(take); });
    };
    pipeline.start();
    fed.engine.at(Seconds(30), [&] {
      pipeline.watch();
      pipeline.fetch(take); // from about thirty, or ten, that are ready
    });
    fed.engine.at(Seconds(34.5), [&, expected = trend] {
      CHECK(pipeline.trend(Seconds(1)) == expected);
      CHECK_FALSE(pipeline.steady());
      pipeline.follow(expected);
      pipeline.watch();
    });
    fed.engine.at(Seconds(34.6 + 4 * std::max(1.0, decode)), [&, expected = trend] {
      CHECK(pipeline.steady() == (expected != 0));
      CHECK(pipeline.trend(Seconds(1)) == 0);
    });
    fed.engine.run();
  }
}

TEST_CASE("A stage with nothing to do takes no time")
{
  Fed fed({0.0, 0.3, 0.0});
  std::vector<Seconds> steps;
  run(fed, 0.2, &steps);
  for (const Seconds step : steps)
    CHECK(step.value() == Approx(0.3).epsilon(1e-9));
}

TEST_CASE("A page cache that holds the part a node reads answers everything from the second epoch")
{
  const Bytes whole(140e9);
  for (int epoch = 1; epoch < 4; ++epoch)
    CHECK(hit_ratio(whole / 2, whole, Bytes(80e9), epoch, true) == 1);
  CHECK(hit_ratio(whole, whole, Bytes(200e9), 0, true) == 0);
  // Other parts each time: what was seen before is 1/2, 3/4, 7/8 ...
  CHECK(hit_ratio(whole / 2, whole, Bytes(200e9), 1, false) == Approx(0.5));
  CHECK(hit_ratio(whole / 2, whole, Bytes(200e9), 3, false) == Approx(0.875));
  // Half of the data in memory, half of it read: the other epochs but the last go for nothing.
  const double c = 0.5, last = 4 * (1 - c - (1 - c) * std::log(1 / (1 - c)));
  CHECK(hit_ratio(whole / 2, whole, c * whole, 9, false) == Approx(last / 2));
}

TEST_CASE("Hits of a cache that is too small are those of a least-recently-used cache", "[oracle]")
{
  constexpr int kSamples = 4000;
  std::mt19937_64 random(7);
  // The part of the data that a node reads in an epoch, another one each time.
  const auto [fraction, nodes] = GENERATE(table<double, int>(
      {{0.2, 1}, {0.5, 1}, {0.8, 1}, {0.3, 2}, {0.58, 2}, {0.9, 2}, {0.3, 4}, {0.7, 4}}));
  {
    // The cache itself, sample by sample, over epochs in random order.
    const auto room = static_cast<std::size_t>(fraction * kSamples);
    std::list<int> recent;
    std::vector<std::list<int>::iterator> at(kSamples, recent.end());
    std::vector<bool> held(kSamples, false);
    std::vector<int> order(kSamples);
    std::iota(order.begin(), order.end(), 0);
    int hits = 0;
    const int epochs = 32, first = 12, part = kSamples / nodes;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      std::shuffle(order.begin(), order.end(), random);
      for (const int sample : std::vector<int>(order.begin(), order.begin() + part)) {
        const auto s = static_cast<std::size_t>(sample);
        if (held[s]) {
          hits += epoch >= first ? 1 : 0;
          recent.erase(at[s]);
        }
        recent.push_front(sample);
        at[s] = recent.begin();
        held[s] = true;
        if (recent.size() > room) {
          held[static_cast<std::size_t>(recent.back())] = false;
          recent.pop_back();
        }
      }
    }
    const double measured = static_cast<double>(hits) / ((epochs - first) * part);
    CHECK(hit_ratio(Bytes(1e9 / nodes), Bytes(1e9), Bytes(fraction * 1e9), 50, false) ==
          Approx(measured).margin(0.01));
    CHECK(hit_ratio(Bytes(1e9 / nodes), Bytes(1e9), Bytes(fraction * 1e9 / nodes), 50, true) ==
          Approx(hit_ratio(Bytes(1e9), Bytes(1e9), Bytes(fraction * 1e9), 50, false)));
  }
}

} // namespace foretrain::input_pipeline_test
