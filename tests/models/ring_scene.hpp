// Scenes with closed forms: a ring of equal GPUs, and a training job on it.
#pragma once

#include "models/plans/data_parallel.hpp"
#include "models/training/program_job.hpp"

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

// What a job of a scene is: a data-parallel plan, its all-reduce, its input, and when it runs.
struct SceneJob {
  DataParallel plan;
  const Collective* all_reduce = nullptr;
  std::vector<std::vector<InputStage>> input{}; // of each rank; none: synthetic
  Fidelity fidelity = Fidelity::coupled;
  double speed_variation = 0;
  JobSchedule schedule;
};

// GPUs and the all-reduce of a scene, as a program's machine.
class SceneMachine final : public JobMachine {
public:
  SceneMachine(sim::Engine& engine, std::vector<sim::ResourceId> gpus, SceneJob& job)
      : engine_(engine), gpus_(std::move(gpus)), all_reduce_(job.all_reduce),
        fidelity_(job.fidelity)
  {
    for (auto& stages : job.input)
      input_.push_back(std::make_unique<InputPipeline>(engine, std::move(stages)));
  }
  sim::PathPtr compute(int rank) override
  {
    return sim::make_path({{gpus_.at(static_cast<std::size_t>(rank)).value, 1.0}}, {}, 1.0);
  }
  sim::PathPtr host(int rank) override { return compute(rank); }
  sim::PathPtr offload(int rank, bool) override { return compute(rank); }
  sim::TaskGraph::ForeignWork fetch(int rank) override
  {
    return [&input = *input_.at(static_cast<std::size_t>(rank))](std::function<void()> got) {
      input.fetch(std::move(got));
    };
  }
  sim::TaskId add_collective(sim::TaskGraph& graph, sim::TaskId begin, const sim::Operation& op,
                             int index, std::vector<sim::TaskId>& flows) override
  {
    return all_reduce_->add(graph, begin, Bytes(op.amount), index, fidelity_, flows);
  }
  sim::TaskId add_transfer(sim::TaskGraph&, sim::TaskId begin, const sim::Operation&, int,
                           std::vector<sim::TaskId>&) override
  {
    return begin;
  }
  sim::TaskId add_synchronisation(sim::TaskGraph&, sim::TaskId begin, const sim::Operation&, int,
                                  std::vector<sim::TaskId>&) override
  {
    return begin;
  }
  std::vector<sim::TaskId> add_variables(sim::TaskGraph&, std::vector<sim::TaskId>&) override
  {
    return {};
  }
  bool watches(const sim::Operation& op) const override { return op.holds > 0; }
  void begins(const sim::Operation& op) override { hold(op, 1); }
  void ends(const sim::Operation& op) override { hold(op, -1); }
  std::string exchange() const override { return all_reduce_ == nullptr ? "" : "all-reduce"; }
  std::string exchange_summary(const sim::Program&) const override { return ""; }
  const std::vector<std::unique_ptr<InputPipeline>>& input() const override { return input_; }
  std::string call(const sim::Operation&) const override { return "AllReduce"; }
  std::optional<std::vector<Seconds>> undisturbed() override { return {}; }

private:
  void hold(const sim::Operation& op, int change)
  {
    holding_ += change;
    for (const sim::ResourceId gpu : gpus_)
      engine_.set_capacity(gpu, holding_ > 0 ? 1 - op.holds : 1);
  }

  sim::Engine& engine_;
  std::vector<sim::ResourceId> gpus_;
  const Collective* all_reduce_;
  Fidelity fidelity_;
  std::vector<std::unique_ptr<InputPipeline>> input_;
  int holding_ = 0;
};

inline std::unique_ptr<ProgramJob> make_job(sim::Engine& engine,
                                            const std::vector<sim::ResourceId>& gpus, SceneJob job)
{
  auto plan = std::make_shared<WorkPlan>();
  if (job.plan.ranks.empty())
    for (int rank = 0; rank < static_cast<int>(gpus.size()); ++rank)
      job.plan.ranks.push_back({rank, 1});
  job.plan.adding = job.all_reduce == nullptr ? Adding::nothing : Adding::all_reduce;
  job.plan.input = !job.input.empty();
  if (job.all_reduce == nullptr)
    job.plan.buckets.clear();
  plan->program = data_parallel_program(job.plan);
  plan->step_variation = job.plan.framework.step_variation;
  auto machine = std::make_unique<SceneMachine>(engine, gpus, job);
  ProgramSetup setup;
  setup.speed_variation = job.speed_variation;
  return std::make_unique<ProgramJob>(engine, std::move(job.schedule), std::move(plan),
                                      std::move(machine), setup);
}

// One job whose backward is one layer per bucket.
struct JobScene : RingScene {
  using RingScene::RingScene;

  SceneJob setup(const Collective* collective, Seconds forward,
                 const std::vector<Seconds>& backward, Bytes bucket)
  {
    SceneJob s;
    s.plan.name = "job";
    s.plan.profile.layers.push_back({forward, Seconds(0)});
    Seconds ready;
    for (const Seconds part : backward) {
      s.plan.profile.layers.push_back({Seconds(0), part});
      ready += part;
      s.plan.buckets.push_back({bucket, 1, ready, 0});
    }
    s.plan.framework.overlap = Overlap::per_tensor;
    s.plan.framework.step_variation = 0;
    s.all_reduce = collective;
    s.schedule.name = "job";
    s.schedule.warmup_steps = 1;
    s.schedule.measured_steps = 3;
    return s;
  }
  std::unique_ptr<ProgramJob> job(const SceneJob& setup) { return make_job(engine, gpus, setup); }
};

} // namespace foretrain::test
