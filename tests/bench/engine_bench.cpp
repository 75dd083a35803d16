// What the engine costs: flows per second by how many are alive, and collectives on many GPUs.
//   build/release/bench_engine            (cmake --build build/release --target bench_engine)
#include "models/training_job.hpp"
#include "sim/engine/engine.hpp"

#include <benchmark/benchmark.h>

#include <memory>

using namespace foretrain;
using namespace foretrain::sim;

namespace {

// `alive` flows at any time, each on two of `alive` links; one that ends is followed by another.
void flows(benchmark::State& state)
{
  const int alive = static_cast<int>(state.range(0));
  const int total = 20 * alive + 200000;
  for (auto _ : state) {
    Engine engine;
    for (int i = 0; i < alive; ++i)
      engine.add_resource("link", 1e9);
    std::vector<PathPtr> paths;
    for (int i = 0; i < alive; ++i)
      paths.push_back(make_path({{i, 1.0}, {(i + 1) % alive, 1.0}}));
    int started = 0;
    std::function<void(int)> next = [&](int i) {
      if (started++ < total)
        engine.start({paths[static_cast<std::size_t>(i)], 1e6 + 1e3 * (started % 97), 1, "flow"},
                     [&next, i](const FlowRecord&) { next(i); });
    };
    for (int i = 0; i < alive; ++i)
      next(i);
    engine.run();
  }
  state.counters["flows/s"] = benchmark::Counter(static_cast<double>(total * state.iterations()),
                                                 benchmark::Counter::kIsRate);
}
BENCHMARK(flows)->Arg(32)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);

// A coupled ring over `gpus` GPUs in nodes of four: 7 links per node.
void coupled_collectives(benchmark::State& state)
{
  const int nodes = static_cast<int>(state.range(0)) / 4;
  constexpr int kBuckets = 50;
  for (auto _ : state) {
    Engine engine;
    std::vector<Use> uses;
    for (int i = 0; i < 7 * nodes; ++i)
      uses.push_back({engine.add_resource("link", i % 7 < 3 ? 50e9 : 12.5e9).value, 1.0});
    const auto ring = make_path(uses);
    int left = kBuckets;
    std::function<void()> next = [&] {
      if (left-- > 0)
        engine.start({ring, 8e6, 1, "all-reduce"}, [&next](const FlowRecord&) { next(); });
    };
    next();
    engine.run();
  }
  state.counters["collectives/s"] = benchmark::Counter(
      static_cast<double>(kBuckets * state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(coupled_collectives)->Arg(256)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
