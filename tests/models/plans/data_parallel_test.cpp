// Data-parallel training written as a program takes the same time as the job built for it.
#include "models/plans/data_parallel.hpp"
#include "sim/workload/accountant.hpp"
#include "sim/workload/executor.hpp"
#include "tests/models/ring_scene.hpp"
#include "tests/support/catch.hpp"

using namespace foretrain;
using namespace foretrain::test;

namespace {

// The GPUs and the one collective of a ring scene.
class RingMachine final : public sim::WorkMachine {
public:
  RingMachine(RingScene& scene, const Collective& collective)
      : scene_(scene), collective_(collective)
  {
  }
  sim::PathPtr compute(int rank) override
  {
    return sim::make_path({{scene_.gpus.at(static_cast<std::size_t>(rank)).value, 1.0}}, {}, 1.0);
  }
  sim::PathPtr host(int rank) override { return compute(rank); }
  sim::PathPtr offload(int rank, bool) override { return compute(rank); }
  sim::TaskGraph::ForeignWork fetch(int) override
  {
    return [](const std::function<void()>& got) { got(); };
  }
  sim::TaskId add_collective(sim::TaskGraph& graph, sim::TaskId begin, const sim::Operation& op,
                             int index, std::vector<sim::TaskId>& flows) override
  {
    return collective_.add(graph, begin, Bytes(op.amount), index, Fidelity::coupled, flows);
  }
  sim::TaskId add_transfer(sim::TaskGraph&, sim::TaskId begin, const sim::Operation&, int,
                           std::vector<sim::TaskId>&) override
  {
    return begin;
  }
  void hold(const sim::Operation& op, bool begins) override
  {
    for (const sim::ResourceId gpu : scene_.gpus)
      scene_.engine.set_capacity(gpu, begins ? 1 - op.holds : 1);
  }

private:
  RingScene& scene_;
  const Collective& collective_;
};

struct Step {
  double time = 0;
  StepTimes parts;
};

Step by_job(const JobSetup& setup, JobScene& scene)
{
  TrainingJob job(scene.engine, setup);
  job.launch(nullptr);
  scene.engine.run();
  return {job.step_times().back().value(), job.mean_times()};
}

Step by_program(const JobSetup& setup, JobScene& scene, const Collective& collective)
{
  const sim::Program program =
      data_parallel_program({"job", setup.ranks, setup.profile, setup.buckets, setup.framework,
                             setup.fusion_copy, setup.stolen_by_communication, false});
  RingMachine machine(scene, collective);
  const sim::WorkOrder order(program);
  sim::StepDates dates(program, order);
  sim::Executor executor(scene.engine, program, order, machine);
  Step step;
  executor.start(std::vector<double>(program.ranks.size(), 1.0), [&] {
    step.time = scene.engine.now().value();
    executor.tell(dates);
    const auto shares = sim::shares_of(dates, Seconds(0), scene.engine.now(),
                                       std::vector<double>(program.ranks.size(), 1.0));
    for (const Seconds busy : shares.busy)
      step.parts.compute += busy;
    for (const Seconds exposed : shares.exposed)
      step.parts.exposed_communication += exposed;
    step.parts.framework = shares.framework;
  });
  scene.engine.run();
  return step;
}

} // namespace

TEST_CASE("a data-parallel step as a program is the job's step", "[property]")
{
  for (const Overlap overlap : {Overlap::none, Overlap::per_tensor})
    for (const double bucket : {1e6, 8e6, 80e6})
      for (const double coordination : {0.0, 3e-3})
        for (const auto& [copy, held] : {std::pair(0.0, 0.0), {50e9, 0.0}, {0.0, 0.3}}) {
          CAPTURE(word_of(overlap), bucket, coordination, copy, held);
          const auto setup_in = [&](JobScene& scene, const Collective& collective) {
            auto setup = scene.setup(&collective, 10.0_ms, {4.0_ms, 5.0_ms, 3.0_ms}, Bytes(bucket));
            for (Bucket& each : setup.buckets)
              each.tensors = 2;
            setup.framework.overlap = overlap;
            setup.framework.fusion_cycle = Seconds(0);
            setup.framework.coordination = Seconds(coordination);
            setup.framework.step_overhead = Seconds(1e-3);
            setup.stolen_by_communication = held;
            setup.profile.optimizer = Seconds(2e-3);
            setup.fusion_copy = BytesPerSecond(copy);
            return setup;
          };
          JobScene one(4, Sharing::plugged);
          const Collective first(one.engine, one.comm, test_library(), Operation::all_reduce,
                                 "ring");
          const Step job = by_job(setup_in(one, first), one);
          JobScene two(4, Sharing::plugged);
          const Collective second(two.engine, two.comm, test_library(), Operation::all_reduce,
                                  "ring");
          const Step program = by_program(setup_in(two, second), two, second);
          CHECK_THAT(program.time, test::is(job.time));
          CHECK_THAT(program.parts.compute.value(), test::is(job.parts.compute.value()));
        }
}
