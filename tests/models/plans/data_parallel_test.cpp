// Data-parallel training as a program: devices that do the same are one rank, and take as long.
#include "models/plans/data_parallel.hpp"

#include "tests/models/ring_scene.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::data_parallel_test {

using namespace foretrain::test;

namespace {

struct Outcome {
  std::vector<Seconds> steps;
  StepTimes parts;
};

Outcome outcome(SceneJob setup, std::vector<sim::WorkRank> ranks)
{
  JobScene scene(6, Sharing::plugged);
  const Collective collective(scene.engine, scene.comm, test_library(), Operation::all_reduce,
                              "ring");
  if (setup.all_reduce != nullptr)
    setup.all_reduce = &collective;
  setup.plan.ranks = std::move(ranks);
  const auto job = scene.job(setup);
  job->launch(nullptr);
  scene.engine.run();
  return {job->step_times(), job->mean_times()};
}

} // namespace

TEST_CASE("devices in a row are one rank, those apart ranks of their own", "[fold]")
{
  const auto ranks = folded({true, true, false, false, false, true, false});
  const std::vector<std::pair<int, int>> wanted{{0, 1}, {1, 1}, {2, 3}, {5, 1}, {6, 1}};
  REQUIRE(ranks.size() == wanted.size());
  for (std::size_t i = 0; i < ranks.size(); ++i)
    CHECK(std::pair(ranks[i].device, ranks[i].stands_for) == wanted[i]);
  CHECK(folded({false, false}).front().stands_for == 2);
  CHECK(folded({}).empty());
}

TEST_CASE("a folded job takes as long as one whose devices are all simulated", "[fold][property]")
{
  const std::vector<std::vector<sim::WorkRank>> ways = {
      {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}},
      {{0, 6}},
      {{0, 1}, {1, 5}},
      {{0, 2}, {2, 1}, {3, 3}}};
  JobScene scene(6, Sharing::plugged);
  const Collective any(scene.engine, scene.comm, test_library(), Operation::all_reduce, "ring");
  for (const Overlap overlap : {Overlap::none, Overlap::per_tensor})
    for (const double cycle : {0.0, 2e-3})
      for (const double held : {0.0, 0.3})
        for (const double bucket : {1e6, 80e6}) {
          CAPTURE(word_of(overlap), cycle, held, bucket);
          auto setup = scene.setup(&any, 10.0_ms, {4.0_ms, 5.0_ms, 3.0_ms}, Bytes(bucket));
          for (Bucket& each : setup.plan.buckets)
            each.tensors = 2;
          setup.plan.framework.overlap = overlap;
          setup.plan.framework.fusion_cycle = Seconds(cycle);
          setup.plan.framework.coordination = Seconds(3e-4);
          setup.plan.framework.step_overhead = Seconds(1e-3);
          setup.plan.framework.step_variation = 0.03;
          setup.plan.fusion_copy = BytesPerSecond(50e9);
          setup.plan.held = held;
          setup.plan.profile.optimizer = Seconds(2e-3);
          setup.speed_variation = 0.02;
          const Outcome each = outcome(setup, ways.front());
          for (const auto& ranks : ways) {
            const Outcome all = outcome(setup, ranks);
            REQUIRE(all.steps.size() == each.steps.size());
            for (std::size_t step = 0; step < all.steps.size(); ++step)
              CHECK_THAT(all.steps[step].value(), test::is(each.steps[step].value()));
            CHECK(all.parts.total().value() == Approx(each.parts.total().value()).epsilon(1e-9));
            if (held > 0)
              continue; // kernels of quicker devices meet collectives at other times
            for (const auto part : kStepParts)
              CHECK((all.parts.*part).value() ==
                    Approx((each.parts.*part).value()).epsilon(1e-9).margin(1e-12));
          }
        }
}

TEST_CASE("what a step waits for after backward is told by its cause", "[closed-form]")
{
  JobScene scene(6, Sharing::plugged);
  const Collective any(scene.engine, scene.comm, test_library(), Operation::all_reduce, "ring");
  auto setup = scene.setup(&any, 10.0_ms, {4.0_ms, 6.0_ms}, Bytes(6e6));
  setup.plan.buckets[0].tensors = setup.plan.buckets[1].tensors = 2;
  setup.plan.framework.coordination = Seconds(3e-4);
  setup.plan.framework.step_overhead = Seconds(1e-3);
  setup.plan.fusion_copy = BytesPerSecond(60e9); // 0.1 ms a bucket and way
  setup.plan.profile.optimizer = Seconds(2e-3);
  const Outcome found = outcome(setup, {{0, 6}});
  // The first bucket is done long before backward ends.
  CHECK_THAT(found.parts.compute.value(), test::is(22e-3));
  CHECK_THAT(found.parts.framework.value(), test::is(1.3e-3));
  CHECK_THAT(found.parts.exposed_communication.value(), test::is(2e-4 + ring_time(6, 6e6)));
  CHECK_THAT(found.steps.back().value(), test::is(23.3e-3 + 2e-4 + ring_time(6, 6e6)));
}

TEST_CASE("gradients of several batches are exchanged once, and added up before", "[closed-form]")
{
  JobScene scene(6, Sharing::plugged);
  const Collective any(scene.engine, scene.comm, test_library(), Operation::all_reduce, "ring");
  auto setup = scene.setup(&any, 10.0_ms, {5.0_ms, 5.0_ms}, Bytes(6e6));
  setup.plan.profile.optimizer = Seconds(2e-3);
  const Outcome one = outcome(setup, {{0, 6}});
  setup.plan.batches = 4;
  setup.plan.adding_up = Seconds(1e-3);
  const Outcome found = outcome(setup, {{0, 6}});
  const double passes = 10e-3 + 10e-3; // forward, and backward in two layers
  CHECK_THAT(found.steps.back().value(), test::is(one.steps.back().value() + 3 * (passes + 1e-3)));
  CHECK_THAT(found.parts.compute.value(), test::is(4 * passes + 3e-3 + 2e-3));
  CHECK_THAT(found.parts.exposed_communication.value(),
             test::is(one.parts.exposed_communication.value()));
}

TEST_CASE("time in which a recorded GPU had no kernel is the host's", "[closed-form]")
{
  JobScene scene(6, Sharing::plugged);
  const Collective any(scene.engine, scene.comm, test_library(), Operation::all_reduce, "ring");
  auto setup = scene.setup(&any, 10.0_ms, {5.0_ms, 5.0_ms}, Bytes(6e6));
  setup.plan.framework.step_overhead = Seconds(1e-3);
  setup.plan.profile.optimizer = Seconds(2e-3);
  const Outcome busy = outcome(setup, {{0, 6}});
  setup.plan.profile.layers[0].forward_idle = 1.0_ms;
  setup.plan.profile.layers.back().backward_idle = 3.0_ms; // before the first bucket is there
  setup.plan.profile.optimizer_idle = Seconds(2e-3);       // all of it
  const Outcome found = outcome(setup, {{0, 6}});
  CHECK_THAT(found.steps.back().value(), test::is(busy.steps.back().value()));
  CHECK_THAT(busy.parts.framework.value(), test::is(1e-3));
  CHECK_THAT(found.parts.framework.value(), test::is(1e-3 + 6e-3));
  CHECK_THAT(found.parts.compute.value(), test::is(22e-3 - 6e-3));
}

TEST_CASE("idle time is spread over its layer", "[closed-form]")
{
  ComputeProfile profile;
  profile.layers.resize(2);
  profile.layers[0] = {Seconds(2), Seconds(4), false, 1, Seconds(1), Seconds(1)};
  profile.layers[1] = {Seconds(6), Seconds(8), false, 1, Seconds(3), Seconds(2)};
  CHECK(profile.forward_idle(Seconds(1), Seconds(5)).value() == Approx(0.5 + 1.5));
  CHECK(profile.forward_idle(Seconds(0), Seconds(8)).value() == Approx(4));
  CHECK(profile.backward_idle(Seconds(4), Seconds(10)).value() == Approx(1 + 0.5));
  profile.optimizer = Seconds(5);
  profile.optimizer_idle = Seconds(2);
  CHECK(profile.idle().value() == Approx(4 + 3 + 2));
  CHECK(profile.scaled(2).total().value() == Approx(2 * (8 + 12 + 5) - 9)); // kernels alone
  CHECK(profile.scaled(2).idle().value() == Approx(9));
}

TEST_CASE("buckets of launched gradients are agreed on while the GPU computes", "[closed-form]")
{
  JobScene scene(6, Sharing::plugged);
  const Collective any(scene.engine, scene.comm, test_library(), Operation::all_reduce, "ring");
  auto setup = scene.setup(&any, 10.0_ms, {4.0_ms, 6.0_ms}, Bytes(6e6));
  setup.plan.framework.handed_over = HandedOver::launched;
  setup.plan.framework.launch_interval = Seconds(5e-6);
  setup.plan.framework.fusion_cycle = 1.0_ms;
  setup.plan.framework.coordination = 8.0_ms;
  setup.plan.framework.step_overhead = Seconds(0);
  setup.plan.buckets[0].launched = setup.plan.buckets[1].launched = 1.0_ms;
  // Asked after 1 ms, both at once: nothing is left of it when backward has ended after 20 ms.
  setup.plan.buckets[1].agreed_with_previous = true;
  const Outcome together = outcome(setup, {{0, 6}});
  CHECK_THAT(together.parts.framework.value(), test::is(0));
  CHECK_THAT(together.steps.front().value(), test::is(20e-3 + ring_time(6, 6e6)));
  // The second is asked for when the first one's data is there, after 14 ms.
  setup.plan.buckets[1].agreed_with_previous = false;
  const Outcome apart = outcome(setup, {{0, 6}});
  CHECK_THAT(apart.parts.framework.value(), test::is(2e-3));
}

TEST_CASE("layers wait for the variables of their buckets", "[closed-form]")
{
  DataParallel job;
  job.ranks = {{0, 1}};
  job.profile.layers = {
      {Seconds(1), Seconds(2)}, {Seconds(3), Seconds(4)}, {Seconds(5), Seconds(6)}};
  job.buckets = {
      {Bytes(16), 1, Seconds(6), 2}, {Bytes(8), 1, Seconds(10), 1}, {Bytes(4), 1, Seconds(12), 0}};
  job.adding = Adding::fetching;
  const sim::Program program = data_parallel_program(job);
  std::vector<double> forward;
  int variables = 0, sums = 0;
  for (const sim::Operation& op : program.operations) {
    if (op.kind == sim::WorkKind::compute && op.phase == sim::Phase::forward)
      forward.push_back(op.amount);
    variables += op.kind == sim::WorkKind::variables ? 1 : 0;
    sums += op.kind == sim::WorkKind::synchronise ? 1 : 0;
  }
  // The last bucket's are needed at once, the second one's after the first layer, and so on.
  CHECK(forward == std::vector<double>{1, 3, 5});
  CHECK(variables == 3);
  CHECK(sums == 3);
}

namespace {

bool follows(const sim::Program& program, int first, int second)
{
  const auto edges = program.all_edges();
  return std::find(edges.begin(), edges.end(), std::pair(first, second)) != edges.end();
}

// Of rank 0, in order.
std::vector<int> kernels(const sim::Program& program, sim::Phase phase)
{
  std::vector<int> found;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const sim::Operation& op = program.operations[i];
    if (op.kind == sim::WorkKind::compute && op.rank == 0 && op.phase == phase)
      found.push_back(static_cast<int>(i));
  }
  return found;
}

} // namespace

TEST_CASE("rows of tables are on their way while what does not need them is computed",
          "[tables][program]")
{
  DataParallel job;
  job.ranks = {{0, 1}, {1, 1}};
  job.profile.layers = {{1.0_ms, 2.0_ms}, {3.0_ms, 4.0_ms}, {5.0_ms, 6.0_ms}};
  job.framework.overlap = Overlap::buckets;
  job.adding = Adding::all_reduce;
  Bucket bucket;
  bucket.size = Bytes(100);
  bucket.ready = 6.0_ms;
  job.buckets = {bucket};
  job.tables = {{Bytes(1000), 1.0_ms, 4.0_ms, 6.0_ms, 10.0_ms}};
  const sim::Program program = data_parallel_program(job);
  program.check();

  std::vector<int> calls;
  for (std::size_t i = 0; i < program.operations.size(); ++i)
    if (program.operations[i].collective == sim::CollectiveKind::all_to_all) {
      calls.push_back(static_cast<int>(i));
      CHECK(program.operations[i].amount == 1000);
    }
  REQUIRE(calls.size() == 2);
  const auto forward = kernels(program, sim::Phase::forward);
  const auto backward = kernels(program, sim::Phase::backward);
  const auto lengths = [&](const std::vector<int>& ops) {
    std::vector<double> told;
    for (const int op : ops)
      told.push_back(1e3 * program.operations.at(static_cast<std::size_t>(op)).amount);
    return told;
  };
  CHECK_THAT(lengths(forward), Catch::Matchers::Approx(std::vector<double>{1, 3, 5}));
  CHECK_THAT(lengths(backward), Catch::Matchers::Approx(std::vector<double>{6, 4, 2}));
  CHECK(follows(program, forward[0], calls[0]));
  CHECK_FALSE(follows(program, calls[0], forward[1]));
  CHECK(follows(program, calls[0], forward[2]));
  CHECK(follows(program, backward[0], calls[1]));
  CHECK_FALSE(follows(program, calls[1], backward[1]));
  CHECK(follows(program, calls[1], backward[2]));
}

TEST_CASE("sums of tables go within a node and then between nodes, gradients the other way",
          "[tables][program]")
{
  DataParallel job;
  job.ranks = {{0, 4}};
  job.nodes = 2;
  job.profile.layers = {{1.0_ms, 2.0_ms}, {3.0_ms, 4.0_ms}};
  job.framework.overlap = Overlap::none;
  job.adding = Adding::all_reduce;
  job.tables = {{Bytes(1000), 1.0_ms, 4.0_ms, 4.0_ms, 6.0_ms, Bytes(3000)}};
  const sim::Program program = data_parallel_program(job);
  program.check();
  std::vector<int> calls;
  for (std::size_t i = 0; i < program.operations.size(); ++i)
    if (program.operations[i].collective == sim::CollectiveKind::all_to_all)
      calls.push_back(static_cast<int>(i));
  REQUIRE(calls.size() == 4);
  const auto amount = [&](int call) {
    return program.operations.at(static_cast<std::size_t>(calls.at(static_cast<std::size_t>(call))))
        .amount;
  };
  CHECK(amount(0) == 3000);
  CHECK(amount(1) == 1000);
  CHECK(amount(2) == 1000);
  CHECK(amount(3) == 3000);
  CHECK(follows(program, calls[0], calls[1]));
  CHECK(follows(program, calls[2], calls[3]));
  const auto sets = [&](int call) {
    const int group =
        program.operations.at(static_cast<std::size_t>(calls.at(static_cast<std::size_t>(call))))
            .group;
    return program.groups.at(static_cast<std::size_t>(group)).devices;
  };
  CHECK(sets(0) == std::vector<std::vector<int>>{{0, 1}, {2, 3}});
  CHECK(sets(1) == std::vector<std::vector<int>>{{0, 2}, {1, 3}});
}

TEST_CASE("gradients of shared rows are added up beside those that are sent", "[tables][program]")
{
  DataParallel job;
  job.ranks = {{0, 1}, {1, 1}};
  job.profile.layers = {{1.0_ms, 2.0_ms}, {3.0_ms, 4.0_ms}};
  job.framework.overlap = Overlap::none;
  job.adding = Adding::all_reduce;
  TableExchange tables{Bytes(1000), 1.0_ms, 4.0_ms, 4.0_ms, 6.0_ms};
  tables.shared = Bytes(70);
  job.tables = {tables};
  const sim::Program program = data_parallel_program(job);
  program.check();
  std::vector<int> sums, sent, updates;
  for (int i = 0; i < static_cast<int>(program.operations.size()); ++i) {
    const sim::Operation& op = program.operations[static_cast<std::size_t>(i)];
    if (op.kind == sim::WorkKind::collective && op.collective == sim::CollectiveKind::all_reduce)
      sums.push_back(i);
    if (op.collective == sim::CollectiveKind::all_to_all)
      sent.push_back(i);
    if (op.kind == sim::WorkKind::compute && op.phase == sim::Phase::optimizer)
      updates.push_back(i);
  }
  REQUIRE(sums.size() == 1);
  REQUIRE(sent.size() == 2);
  REQUIRE(updates.size() == 2);
  const sim::Operation& sum = program.operations[static_cast<std::size_t>(sums[0])];
  CHECK(sum.amount == 70);
  CHECK(sum.stream != program.operations[static_cast<std::size_t>(sent[1])].stream);
  const auto backward = kernels(program, sim::Phase::backward);
  REQUIRE(backward.size() == 3); // the last one waits for gradients of rows
  CHECK(follows(program, backward[0], sums[0]));
  CHECK(follows(program, sent[1], backward[2]));
  CHECK_FALSE(follows(program, sums[0], backward[2]));
  for (const int update : updates) {
    bool behind = false; // what gathers all that the update waits for
    for (int between = 0; between < static_cast<int>(program.operations.size()); ++between)
      behind = behind || (follows(program, sums[0], between) && follows(program, between, update));
    CHECK(behind);
  }
}

TEST_CASE("what nothing in a pass waits for, what comes after it does", "[tables][program]")
{
  DataParallel job;
  job.ranks = {{0, 1}, {1, 1}};
  job.profile.layers = {{1.0_ms, 2.0_ms}};
  job.tables = {{Bytes(1000), 1.0_ms, 1.0_ms, 0.0_ms, 2.0_ms}};
  const sim::Program program = data_parallel_program(job);
  const auto forward = kernels(program, sim::Phase::forward);
  const auto backward = kernels(program, sim::Phase::backward);
  REQUIRE(forward.size() == 2);
  REQUIRE(backward.size() == 2);
  std::vector<int> calls;
  for (std::size_t i = 0; i < program.operations.size(); ++i)
    if (program.operations[i].collective == sim::CollectiveKind::all_to_all)
      calls.push_back(static_cast<int>(i));
  REQUIRE(calls.size() == 2);
  CHECK(follows(program, forward[0], calls[0]));
  CHECK(follows(program, calls[0], forward[1]));
  CHECK(follows(program, forward[1], calls[1])); // what begins with backward follows forward
  CHECK(follows(program, calls[1], backward[1]));
}

} // namespace foretrain::data_parallel_test
