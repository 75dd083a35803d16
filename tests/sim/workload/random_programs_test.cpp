// Random programs: dates are those of the longest path by another way, and where the time of a step
// went is told whole.
#include "sim/workload/accountant.hpp"
#include "sim/workload/executor.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plain_machine.hpp"

#include <algorithm>
#include <random>

namespace foretrain::random_programs_test {

using namespace foretrain::sim;

namespace {

struct Drawn {
  Program program;
  std::vector<Seconds> lengths;
};

class Draw {
public:
  explicit Draw(unsigned seed) : random_(seed) {}

  // Ranks that compute, wait and do host work, groups that exchange, pairs that send; edges only
  // to what was written later.
  Drawn program()
  {
    Drawn drawn;
    Program& program = drawn.program;
    program.name = "random";
    const int ranks = whole(1, 4);
    std::vector<int> all;
    std::vector<int> devices;
    for (int r = 0; r < ranks; ++r) {
      program.ranks.push_back({r, 1});
      all.push_back(r);
    }
    const int side = program.add_stream("communication");
    const int host = program.add_stream("host");
    const int group = program.add_group({"all", all, {all}});
    const int operations = whole(1, 30);
    for (int i = 0; i < operations; ++i) {
      const int rank = whole(0, ranks - 1);
      add(program, rank, ranks, group, side, host);
      const int last = static_cast<int>(program.operations.size()) - 1;
      for (int edges = whole(0, 2); edges > 0 && last > 0; --edges)
        program.order(OpId{whole(0, last - 1)}, OpId{last});
    }
    for (const Operation& op : program.operations)
      drawn.lengths.push_back(Seconds(op.kind == WorkKind::join ? 0
                                      : whole(0, 4) == 0        ? 0
                                                                : whole(1, 50)));
    return drawn;
  }

  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

private:
  void add(Program& program, int rank, int ranks, int group, int side, int host)
  {
    static constexpr Phase kKernels[] = {Phase::forward, Phase::backward, Phase::recompute,
                                         Phase::optimizer};
    static constexpr Phase kExchanges[] = {Phase::tensor, Phase::data, Phase::expert};
    switch (whole(0, 9)) {
    case 0:
      program.collective(group, CollectiveKind::all_reduce, kExchanges[whole(0, 2)], "sum",
                         Bytes(8), side);
      break;
    case 1:
      if (ranks > 1)
        program.transfer(rank, (rank + 1) % ranks, Phase::pipeline, "send", Bytes(8), side);
      break;
    case 2:
      program.host(rank, Phase::framework, "step", Seconds(1), host);
      break;
    case 3:
      program.wait(rank, Phase::framework, "idle", Seconds(1), 0);
      break;
    case 4:
      program.join(Phase::data);
      break;
    default:
      program.compute(rank, kKernels[whole(0, 3)], "kernel", Seconds(1));
    }
  }

  std::mt19937 random_;
};

// When each operation ends, by going over all edges until nothing moves.
std::vector<double> ends_of(const Drawn& drawn)
{
  const auto edges = drawn.program.all_edges();
  std::vector<double> begin(drawn.lengths.size(), 0);
  const auto end = [&](int i) {
    return begin[static_cast<std::size_t>(i)] + drawn.lengths[static_cast<std::size_t>(i)].value();
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& [first, second] : edges)
      if (end(first) > begin[static_cast<std::size_t>(second)]) {
        begin[static_cast<std::size_t>(second)] = end(first);
        moved = true;
      }
  }
  std::vector<double> ends;
  for (std::size_t i = 0; i < begin.size(); ++i)
    ends.push_back(end(static_cast<int>(i)));
  return ends;
}

} // namespace

TEST_CASE("dates of random programs are those of their longest paths", "[workload][property]")
{
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const Drawn drawn = Draw(seed).program();
    const Program& program = drawn.program;
    program.check();
    const WorkOrder order(program);
    REQUIRE(order.sequence().size() == program.operations.size());
    StepDates dates(program, order);
    evaluate(drawn.lengths, Seconds(7), dates);
    const auto ends = ends_of(drawn);
    const auto edges = program.all_edges();
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const OpId op{static_cast<int>(i)};
      if (dates.finished(op).value() != 7 + ends[i])
        FAIL_CHECK("operation " << i << " ends at " << dates.finished(op).value() << ", not at "
                                << 7 + ends[i]);
      CHECK(dates.finished(op) - dates.started(op) == drawn.lengths[i]);
      // What it waited for ended when it began, and is one of those it had to wait for.
      const OpId before = dates.released_by(op);
      bool waits = false;
      bool known = !before;
      for (const auto& [first, second] : edges)
        if (second == op.value) {
          waits = true;
          known |= before && first == before.value;
        }
      CHECK(known);
      CHECK((!before || dates.finished(before) == dates.started(op)));
      CHECK((waits || dates.started(op) == Seconds(7)));
      CHECK((before || dates.started(op) == Seconds(7)));
    }
    CHECK(dates.finished(dates.last()).value() == 7 + *std::max_element(ends.begin(), ends.end()));
  }
}

TEST_CASE("shares of random programs add up to the step, and kernels to what they take",
          "[workload][accountant][property]")
{
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const Drawn drawn = Draw(seed).program();
    const Program& program = drawn.program;
    const WorkOrder order(program);
    StepDates dates(program, order);
    evaluate(drawn.lengths, Seconds(2), dates);
    const double ranks = static_cast<double>(program.ranks.size());
    const Seconds end = dates.finished(dates.last());
    const StepShares shares =
        shares_of(dates, Seconds(2), end, std::vector<double>(program.ranks.size(), 1.0));
    CHECK_THAT(shares.total().value() + 1, test::is((end - Seconds(2)).value() + 1));
    for (std::size_t phase = 0; phase < kPhases; ++phase) {
      double kernels = 0;
      for (std::size_t i = 0; i < program.operations.size(); ++i) {
        const Operation& op = program.operations[i];
        if (op.kind == WorkKind::compute && static_cast<std::size_t>(op.phase) == phase)
          kernels += drawn.lengths[i].value() / ranks;
      }
      CHECK_THAT(shares.busy[phase].value() + 1, test::is(kernels + 1));
      CHECK(shares.exposed[phase].value() >= -1e-12);
      if (!exchanges(static_cast<Phase>(phase)))
        CHECK(shares.exposed[phase].value() == 0);
    }
    for (const Seconds part :
         {shares.bubble, shares.straggler, shares.input, shares.offload, shares.framework})
      CHECK(part.value() >= -1e-12);
    const auto is = [&](WorkKind kind) {
      return std::any_of(program.operations.begin(), program.operations.end(),
                         [&](const Operation& op) { return op.kind == kind; });
    };
    CHECK((shares.bubble == Seconds(0) || is(WorkKind::transfer)));
    CHECK(shares.input == Seconds(0));
    CHECK(shares.offload == Seconds(0));
    // Twice the sum is what two steps of which one is counted once are.
    StepShares twice = shares;
    twice.add(shares);
    twice.add(shares, 0.5);
    CHECK_THAT(twice.total().value() + 1, test::is(2.5 * shares.total().value() + 1));
    CHECK_THAT(twice.straggler.value() + 1, test::is(2.5 * shares.straggler.value() + 1));
  }
}

TEST_CASE("a rank that stands for several counts as they would by themselves",
          "[workload][accountant][property]")
{
  for (unsigned seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    Program folded;
    folded.name = "folded";
    Program plain;
    plain.name = "plain";
    std::vector<Seconds> of_folded, of_plain;
    int devices = 0;
    for (int r = 0; r < 3; ++r) {
      const int alike = draw.whole(1, 5);
      folded.ranks.push_back({devices, alike});
      std::vector<int> own;
      for (int i = 0; i < alike; ++i) {
        own.push_back(static_cast<int>(plain.ranks.size()));
        plain.ranks.push_back({devices++, 1});
      }
      for (int k = draw.whole(1, 4); k > 0; --k) {
        const Phase phase = draw.whole(0, 1) == 0 ? Phase::forward : Phase::optimizer;
        const Seconds length(draw.whole(1, 20));
        folded.compute(r, phase, "kernel", length);
        of_folded.push_back(length);
        for (const int rank : own) {
          plain.compute(rank, phase, "kernel", length);
          of_plain.push_back(length);
        }
      }
    }
    const auto shares = [](const Program& program, const std::vector<Seconds>& lengths) {
      const WorkOrder order(program);
      StepDates dates(program, order);
      evaluate(lengths, Seconds(0), dates);
      return shares_of(dates, Seconds(0), dates.finished(dates.last()),
                       std::vector<double>(program.ranks.size(), 1.0));
    };
    const StepShares a = shares(folded, of_folded);
    const StepShares b = shares(plain, of_plain);
    CHECK_THAT(a.total().value(), test::is(b.total().value()));
    CHECK_THAT(a.straggler.value() + 1, test::is(b.straggler.value() + 1));
    for (std::size_t phase = 0; phase < kPhases; ++phase)
      CHECK_THAT(a.busy[phase].value() + 1, test::is(b.busy[phase].value() + 1));
  }
}

} // namespace foretrain::random_programs_test
