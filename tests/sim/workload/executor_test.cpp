// Closed forms of programs run on a machine of plain resources, and what their steps are told to be
// made of.
#include "sim/workload/accountant.hpp"
#include "sim/workload/executor.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plain_machine.hpp"

#include <map>

namespace foretrain::executor_test {

using namespace foretrain::sim;
using foretrain::test::PlainMachine;

namespace {

struct Ran {
  Seconds time;
  StepShares shares;
};

Ran run(const Program& program, std::vector<double> stretch = {}, double phase = 0)
{
  Engine engine;
  PlainMachine machine(engine, static_cast<int>(program.ranks.size()));
  program.check();
  const WorkOrder order(program);
  StepDates dates(program, order);
  Executor executor(engine, program, order, machine);
  stretch.resize(program.ranks.size(), 1.0);
  Ran ran;
  const Seconds begin = engine.now();
  executor.start(stretch, phase, [&] {
    ran.time = engine.now() - begin;
    executor.tell(dates);
    ran.shares =
        shares_of(dates, begin, engine.now(), std::vector<double>(program.ranks.size(), 1.0));
  });
  engine.run();
  return ran;
}

Program with_ranks(int ranks)
{
  Program program;
  program.name = "test";
  for (int r = 0; r < ranks; ++r)
    program.ranks.push_back({r, 1});
  return program;
}

// One forward one backward, each micro-batch a second forward and two backward, sent in no time
// worth speaking of.
Program one_f_one_b(int stages, int micro_batches)
{
  Program program = with_ranks(stages);
  const int down = program.add_stream("activations");
  const int up = program.add_stream("gradients");
  const Bytes tiny(1e-12);
  std::map<std::pair<int, int>, OpId> forwards, backwards;
  for (int s = 0; s < stages; ++s) {
    const int warm = std::min(micro_batches, stages - s);
    int f = 0;
    int b = 0;
    const auto forward = [&] {
      forwards[{s, f++}] = program.compute(s, Phase::forward, "forward", Seconds(1));
    };
    const auto backward = [&] {
      backwards[{s, b++}] = program.compute(s, Phase::backward, "backward", Seconds(2));
    };
    for (int i = 0; i < warm; ++i)
      forward();
    while (b < micro_batches) {
      backward();
      if (f < micro_batches)
        forward();
    }
  }
  for (int s = 0; s + 1 < stages; ++s)
    for (int m = 0; m < micro_batches; ++m) {
      const OpId send = program.transfer(s, s + 1, Phase::pipeline, "send", tiny, down);
      program.order(forwards[{s, m}], send);
      program.order(send, forwards[{s + 1, m}]);
      const OpId back = program.transfer(s + 1, s, Phase::pipeline, "send", tiny, up);
      program.order(backwards[{s + 1, m}], back);
      program.order(back, backwards[{s, m}]);
    }
  return program;
}

} // namespace

TEST_CASE("a pipeline of p stages and m micro-batches is idle for (p - 1) / m of its work",
          "[closed-form]")
{
  for (const int stages : {1, 2, 4, 7})
    for (const int batches : {1, 4, 16}) {
      CAPTURE(stages, batches);
      const Ran ran = run(one_f_one_b(stages, batches));
      CHECK(ran.time.value() == Approx(3.0 * (batches + stages - 1)).epsilon(1e-9));
      CHECK(ran.shares.bubble.value() == Approx(3.0 * (stages - 1)).margin(1e-9));
      CHECK(ran.shares.busy[static_cast<std::size_t>(Phase::forward)].value() ==
            Approx(batches).epsilon(1e-9));
      CHECK(ran.shares.total().value() == Approx(ran.time.value()).epsilon(1e-9));
    }
}

TEST_CASE("copies in turn between ranks are communication of all, and no bubble", "[closed-form]")
{
  Program program = with_ranks(3);
  OpId before = program.compute(0, Phase::forward, "layer", Seconds(1));
  for (int r = 0; r < 3; ++r) {
    const OpId copy = program.transfer(r, (r + 1) % 3, Phase::data, "copy", Bytes(2), 0);
    program.order(before, copy);
    before = copy;
  }
  const Ran ran = run(program);
  CHECK(ran.time.value() == Approx(7).epsilon(1e-9));
  CHECK(ran.shares.bubble == Seconds(0));
  CHECK(ran.shares.exposed[static_cast<std::size_t>(Phase::data)].value() == Approx(6));
  CHECK(ran.shares.straggler.value() == Approx(2.0 / 3)); // two of three wait for the kernel
}

TEST_CASE("an exchange beside kernels costs what they do not hide", "[closed-form]")
{
  for (const double bytes : {0.5, 1.0, 3.0}) {
    CAPTURE(bytes);
    Program program = with_ranks(2);
    const int stream = program.add_stream("communication");
    const int group = program.add_group({"data", {0, 1}, {{0, 1}}});
    std::vector<OpId> first;
    for (int r = 0; r < 2; ++r)
      first.push_back(program.compute(r, Phase::backward, "last layer", Seconds(1)));
    const OpId reduce = program.collective(group, CollectiveKind::all_reduce, Phase::data, "reduce",
                                           Bytes(bytes), stream);
    for (int r = 0; r < 2; ++r) {
      program.order(first[static_cast<std::size_t>(r)], reduce);
      program.compute(r, Phase::backward, "first layer", Seconds(1));
      program.order(reduce, program.compute(r, Phase::optimizer, "update", Seconds(0.5)));
    }
    const Ran ran = run(program);
    const double exposed = std::max(0.0, bytes - 1);
    CHECK(ran.time.value() == Approx(2.5 + exposed).epsilon(1e-9));
    CHECK(ran.shares.exposed[static_cast<std::size_t>(Phase::data)].value() ==
          Approx(exposed).margin(1e-9));
    CHECK(ran.shares.busy[static_cast<std::size_t>(Phase::optimizer)].value() ==
          Approx(0.5).epsilon(1e-9));
  }
}

TEST_CASE("ranks that are early wait for the late one, not for the exchange", "[closed-form]")
{
  Program program = with_ranks(2);
  const int group = program.add_group({"tensor", {0, 1}, {{0, 1}}});
  for (int r = 0; r < 2; ++r)
    program.compute(r, Phase::forward, "layer", Seconds(1));
  program.collective(group, CollectiveKind::all_reduce, Phase::tensor, "sum", Bytes(0.25), 0);
  const Ran ran = run(program, {1.0, 1.5});
  CHECK(ran.time.value() == Approx(1.75).epsilon(1e-9));
  CHECK(ran.shares.straggler.value() == Approx(0.25).epsilon(1e-9)); // half a second of one of two
  CHECK(ran.shares.exposed[static_cast<std::size_t>(Phase::tensor)].value() ==
        Approx(0.25).epsilon(1e-9));
}

TEST_CASE("input, host work and pauses are told apart", "[closed-form]")
{
  Program program = with_ranks(1);
  const int side = program.add_stream("host");
  program.fetch(0, 0);
  program.compute(0, Phase::forward, "layer", Seconds(1));
  const OpId host = program.host(0, Phase::framework, "launch", Seconds(2), side);
  program.order(host, program.compute(0, Phase::backward, "layer", Seconds(1)));
  program.offload(0, Phase::optimizer, "gradients", Bytes(0.5), true, 0);
  program.wait(0, Phase::framework, "synchronise", Seconds(0.125), 0);
  const Ran ran = run(program);
  CHECK(ran.time.value() == Approx(2 + 1 + 0.5 + 0.125).epsilon(1e-9));
  CHECK(ran.shares.input.value() == Approx(0.25).epsilon(1e-9));
  CHECK(ran.shares.framework.value() == Approx(0.75 + 0.125).epsilon(1e-9));
  CHECK(ran.shares.offload.value() == Approx(0.5).epsilon(1e-9));
}

TEST_CASE("shares of a step are means over devices, not over ranks", "[closed-form]")
{
  Program program = with_ranks(2);
  program.ranks[1].stands_for = 3;
  program.compute(0, Phase::forward, "layer", Seconds(1));
  program.compute(1, Phase::forward, "layer", Seconds(2));
  const Ran ran = run(program);
  CHECK(ran.shares.busy[static_cast<std::size_t>(Phase::forward)].value() ==
        Approx((1.0 * 1 + 3.0 * 2) / 4).epsilon(1e-9));
}

TEST_CASE("a program that is not whole is refused", "[error]")
{
  Program nowhere = with_ranks(1);
  nowhere.compute(1, Phase::forward, "layer", Seconds(1));
  CHECK_THROWS_AS(nowhere.check(), std::logic_error);
  Program dangling = with_ranks(1);
  dangling.order(dangling.compute(0, Phase::forward, "layer", Seconds(1)), OpId{7});
  CHECK_THROWS_AS(dangling.check(), std::logic_error);
  Program stranger = with_ranks(1);
  stranger.add_group({"pair", {0, 1}, {{0, 1}}});
  CHECK_THROWS_WITH(stranger.check(), Catch::Matchers::Contains("group 'pair' has no rank"));
  Program negative = with_ranks(1);
  negative.compute(0, Phase::forward, "layer", Seconds(-1));
  CHECK_THROWS_AS(negative.check(), std::logic_error);
}

TEST_CASE("idle time beside a collective is exposed, what a rank came too early for, too",
          "[workload][accountant]")
{
  // Rank 0 computes 1 s, rank 1 idles 3 s and comes then; the exchange of 4 s follows, beside which
  // rank 0 idles 2 s before it waits.
  Program program;
  program.ranks = {{0, 1}, {1, 1}};
  const int stream = program.add_stream("communication");
  const int group = program.add_group({"all", {0, 1}, {{0, 1}}});
  const OpId sum =
      program.collective(group, CollectiveKind::all_to_all, Phase::expert, "a2a", Bytes(4), stream);
  program.order(program.compute(0, Phase::forward, "kernel", Seconds(1)), sum);
  program.order(program.wait(1, Phase::framework, "idle", Seconds(3), 0), sum);
  program.wait(0, Phase::framework, "idle", Seconds(2), 0); // 1 to 3 s: its kernel waits for rank 1
  for (const int rank : {0, 1}) {
    const OpId last = program.compute(rank, Phase::forward, "kernel", Seconds(1));
    program.order(sum, last);
  }
  const Ran ran = run(program);
  CHECK(ran.time.value() == Approx(8));
  const auto expert = static_cast<std::size_t>(Phase::expert);
  const auto forward = static_cast<std::size_t>(Phase::forward);
  CHECK(ran.shares.exposed[expert].value() == Approx((2 + 4 + 4) / 2.0));
  CHECK(ran.shares.framework.value() == Approx(3 / 2.0));
  CHECK(ran.shares.busy[forward].value() == Approx((2 + 1) / 2.0));
  CHECK(ran.shares.total().value() == Approx(8));
}

TEST_CASE("a stage that exchanges before it waits for another one is exposed, then in a bubble",
          "[workload][accountant]")
{
  // Ranks 1 and 2 compute 1 s and exchange 2 s; what they need from rank 0 is there after 5 s.
  Program program = with_ranks(3);
  const int stream = program.add_stream("communication");
  const int stage = program.add_group({"stage", {1, 2}, {{1, 2}}});
  const OpId first = program.compute(0, Phase::forward, "kernel", Seconds(5));
  const OpId sum =
      program.collective(stage, CollectiveKind::all_to_all, Phase::expert, "a2a", Bytes(2), stream);
  for (const int rank : {1, 2}) {
    program.order(program.compute(rank, Phase::forward, "kernel", Seconds(1)), sum);
    const OpId sent = program.transfer(0, rank, Phase::pipeline, "send", Bytes(1e-12), stream);
    program.order(first, sent);
    const OpId last = program.compute(rank, Phase::forward, "kernel", Seconds(1));
    program.order(sum, last);
    program.order(sent, last);
  }
  const Ran ran = run(program);
  CHECK(ran.time.value() == Approx(6));
  const auto expert = static_cast<std::size_t>(Phase::expert);
  CHECK(ran.shares.exposed[expert].value() == Approx(2 * 2 / 3.0));
  CHECK(ran.shares.bubble.value() == Approx((2 * 2 + 1) / 3.0)); // 3 to 5 s; rank 0 at the end
  CHECK(ran.shares.total().value() == Approx(6));
}

TEST_CASE("an evaluated step has the dates of a simulated one", "[workload][property]")
{
  for (const int stages : {1, 2, 5})
    for (const int micro_batches : {1, 4, 9}) {
      CAPTURE(stages, micro_batches);
      const Program program = one_f_one_b(stages, micro_batches);
      const WorkOrder order(program);
      REQUIRE(order.sequence().size() == program.operations.size());
      StepDates dates(program, order);
      std::vector<Seconds> lengths;
      for (const Operation& op : program.operations)
        lengths.push_back(length_alone(op, 1));
      evaluate(lengths, Seconds(3), dates);
      const Seconds step = dates.finished(dates.last()) - Seconds(3);
      const Ran ran = run(program);
      CHECK_THAT(step.value(), test::is(ran.time.value()));
      const StepShares shares = shares_of(dates, Seconds(3), Seconds(3) + step,
                                          std::vector<double>(program.ranks.size(), 1.0));
      CHECK_THAT(shares.total().value(), test::is(step.value()));
      CHECK_THAT(shares.bubble.value(), test::is(ran.shares.bubble.value()));
    }
}

TEST_CASE("what waits for itself has no order", "[workload][error]")
{
  Program program = with_ranks(2);
  const int side = program.add_stream("side");
  const OpId first = program.compute(0, Phase::forward, "first", Seconds(1));
  const OpId second = program.compute(0, Phase::forward, "second", Seconds(1), side);
  const OpId third = program.compute(0, Phase::forward, "third", Seconds(1));
  program.order(second, first);
  CHECK(WorkOrder(program).sequence() == std::vector<int>{1, 0, 2});
  program.order(third, second);
  const OpId after = program.compute(0, Phase::forward, "after", Seconds(1));
  program.compute(1, Phase::forward, "elsewhere", Seconds(1));
  program.order(second, after);
  CHECK(WorkOrder(program).sequence() == std::vector<int>{4});
}

TEST_CASE("devices that a rank stands for wait for the slowest of them", "[workload][accountant]")
{
  Program program = with_ranks(1);
  program.compute(0, Phase::forward, "layer", Seconds(3));
  program.compute(0, Phase::optimizer, "optimizer", Seconds(1));
  const WorkOrder order(program);
  StepDates dates(program, order);
  evaluate({length_alone(program.operations[0], 1.5), length_alone(program.operations[1], 1.5)},
           Seconds(0), dates);
  const StepShares shares = shares_of(dates, Seconds(0), Seconds(5.5), {0.8});
  CHECK_THAT(shares.busy[static_cast<std::size_t>(Phase::forward)].value(), test::is(0.8 * 4.5));
  CHECK_THAT(shares.busy[static_cast<std::size_t>(Phase::optimizer)].value(), test::is(1));
  CHECK_THAT(shares.straggler.value(), test::is(0.2 * 4.5));
}

TEST_CASE("an agreement waits for the loop to wake, and for its own cost",
          "[executor][closed-form]")
{
  Program program = with_ranks(1);
  const OpId work = program.compute(0, Phase::backward, "backward", Seconds(6));
  const OpId agreed = program.agree(Seconds(0.5), Seconds(5));
  program.order(work, agreed);
  // The loop wakes at 0, 5, 10; with a phase of 0.3 at 1.5, 6.5.
  CHECK_THAT(run(program).time.value(), test::is(10.5));
  CHECK_THAT(run(program, {}, 0.3).time.value(), test::is(7));
  CHECK_THAT(run(program, {}, 0.3).shares.framework.value(), test::is(1));
  program.operations.back().period = Seconds(0);
  CHECK_THAT(run(program, {}, 0.3).time.value(), test::is(6.5));
}

TEST_CASE("what waits for a join of kernels waits for the slowest, whatever is exchanged",
          "[executor][closed-form]")
{
  // Rank 1 computes to 3; beside that 2.5 bytes travel from 1 to 3.5; both update then.
  Program program = with_ranks(2);
  const int link = program.add_stream("link");
  const int group = program.add_group({"data", {0, 1}, {{0, 1}}});
  const OpId quick = program.compute(0, Phase::backward, "backward", Seconds(1));
  const OpId slow = program.compute(1, Phase::backward, "backward", Seconds(1));
  const OpId later = program.compute(1, Phase::backward, "backward", Seconds(2));
  const OpId sum =
      program.collective(group, CollectiveKind::all_reduce, Phase::data, "sum", Bytes(2.5), link);
  program.order(quick, sum);
  program.order(slow, sum);
  const OpId all = program.join(Phase::data);
  for (const OpId op : {quick, later, sum})
    program.order(op, all);
  for (int rank = 0; rank < 2; ++rank)
    program.order(all, program.compute(rank, Phase::optimizer, "optimizer", Seconds(1)));
  const Ran ran = run(program);
  CHECK_THAT(ran.time.value(), test::is(4.5));
  CHECK_THAT(ran.shares.straggler.value(), test::is(0.5 * 2));
  CHECK_THAT(ran.shares.exposed[static_cast<std::size_t>(Phase::data)].value(), test::is(0.5));
  CHECK_THAT(ran.shares.framework.value(), test::is(0));
}

TEST_CASE("buckets are synchronised by the machine, and their variables brought by it",
          "[executor][closed-form]")
{
  Program program = with_ranks(1);
  const int group = program.add_group({"data", {0}, {{0}}});
  const OpId sum = program.synchronise(group, "synchronisation", Bytes(2));
  const OpId brought = program.variables(group, "variables", Bytes(2)); // there at 0.5
  const OpId forward = program.compute(0, Phase::forward, "forward", Seconds(1));
  program.order(brought, forward);
  program.order(forward, sum);
  const Ran ran = run(program);
  CHECK_THAT(ran.time.value(), test::is(3.5));
  CHECK_THAT(ran.shares.exposed[static_cast<std::size_t>(Phase::data)].value(), test::is(2.5));
  CHECK_THAT(ran.shares.busy[static_cast<std::size_t>(Phase::forward)].value(), test::is(1));
}

TEST_CASE("kernels share a GPU alike, whatever cores they hold", "[workload][closed-form]")
{
  Engine engine;
  PlainMachine machine(engine, 2);
  const ResourceId cores = engine.add_resource("cores", 8.0);
  machine.share_first_gpu({{{cores.value, 0.5}}, 3e-10}); // as little as a thread beside bytes
  Program program = with_ranks(2);
  program.compute(0, Phase::forward, "kernels", Seconds(1));
  program.compute(1, Phase::forward, "kernels", Seconds(3));
  const WorkOrder order(program);
  StepDates dates(program, order);
  Executor executor(engine, program, order, machine);
  executor.start({1.0, 1.0}, 0, [&] { executor.tell(dates); });
  engine.run();
  CHECK(dates.finished({0}).value() == Approx(2).epsilon(1e-9)); // a half each, then all of it
  CHECK(dates.finished({1}).value() == Approx(4).epsilon(1e-9));
}

} // namespace foretrain::executor_test
