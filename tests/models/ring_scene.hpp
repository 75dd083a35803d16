// Scenes with closed forms: a ring of equal GPUs, and a training job on it.
#pragma once

#include "models/training_job.hpp"

#include <string>
#include <vector>

namespace foretrain::test {

using namespace foretrain::models;
using sim::Sharing;

constexpr double kBandwidth = 10e9;
constexpr double kHopLatency = 2e-6;
constexpr double kCall = 5e-6;
constexpr double kStep = 3e-6;

inline Library test_library()
{
  Protocol simple;
  simple.name = "Simple";
  simple.ring_base = Seconds(kCall);
  simple.ring_hop = {Seconds(kStep), Seconds(kStep), Seconds(kStep)};
  return {"test", {simple}, {}, 1};
}

// A ring of equal GPUs, a link of its own from each to the next.
struct RingScene {
  int ranks;
  sim::Engine engine;
  std::vector<sim::ResourceId> gpus, links;
  sim::Communicator comm;

  RingScene(int n, Sharing sharing) : ranks(n), engine(sharing)
  {
    for (int i = 0; i < n; ++i)
      gpus.push_back(engine.add_resource("gpu" + std::to_string(i), 1.0));
    for (int i = 0; i < n; ++i)
      links.push_back(engine.add_resource("link" + std::to_string(i), kBandwidth));
    add_ring();
  }

  void add_ring()
  {
    comm.name = "ring";
    comm.ranks = ranks;
    sim::Channel channel;
    for (int i = 0; i < ranks; ++i) {
      channel.ring.push_back(i);
      sim::Hop hop;
      hop.from = i;
      hop.to = (i + 1) % ranks;
      hop.uses = {{links[static_cast<std::size_t>(i)].value, 1.0}};
      hop.latency = Seconds(kHopLatency);
      channel.hops.push_back(hop);
    }
    comm.channels = {channel};
  }

  // Time of an all-reduce that starts at 0.
  double all_reduce(Bytes size, Fidelity fidelity, const Library& library = test_library())
  {
    const Collective collective(engine, comm, library, Operation::all_reduce, "ring");
    sim::TaskGraph graph(engine);
    std::vector<sim::TaskId> flows;
    const sim::TaskId begin = graph.add_join("begin");
    const sim::TaskId end = collective.add(graph, begin, size, 0, fidelity, flows);
    graph.start(nullptr);
    engine.run();
    return graph.finished(end).value();
  }
};

inline double ring_time(int n, double size)
{
  return kCall + 2 * (n - 1) * (kStep + kHopLatency) + 2.0 * (n - 1) / n * size / kBandwidth;
}

// One job whose backward is one layer per bucket.
struct JobScene : RingScene {
  using RingScene::RingScene;

  JobSetup setup(const Collective* collective, Seconds forward, std::vector<Seconds> backward,
                 Bytes bucket)
  {
    JobSetup s;
    s.name = "job";
    s.ranks = ranks;
    s.compute = gpus;
    for (const sim::ResourceId gpu : gpus)
      s.compute_paths.push_back(sim::make_path({{gpu.value, 1.0}}, {}, 1.0));
    s.profile.layers.push_back({forward, Seconds(0)});
    Seconds ready;
    for (const Seconds part : backward) {
      s.profile.layers.push_back({Seconds(0), part});
      ready += part;
      s.buckets.push_back({bucket, 1, ready, 0});
    }
    s.framework.overlap = Overlap::per_tensor;
    s.framework.step_variation = 0;
    if (collective != nullptr)
      s.synchroniser = std::make_shared<AllReduce>(
          std::shared_ptr<const Collective>(collective, [](const auto*) {}));
    s.warmup_steps = 1;
    s.measured_steps = 3;
    return s;
  }
};

} // namespace foretrain::test
