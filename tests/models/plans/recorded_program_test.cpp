// Recorded steps with exchanges as programs: who exchanges with whom, and in which order.
#include "models/plans/recorded_program.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::recorded_program_test {

using namespace foretrain::models;

namespace {

MeasuredPiece piece(double product, std::vector<int> after, std::vector<int> starts)
{
  MeasuredPiece it;
  it.work.product = Seconds(product);
  it.after = std::move(after);
  it.starts = std::move(starts);
  return it;
}

MeasuredSpec two_exchanges()
{
  MeasuredSpec measured;
  measured.ranks = 8;
  measured.exchanges = {{"all-to-all", Bytes(1e6), 0, 1, Seconds(0)},
                        {"all-gather", Bytes(2e6), 2, 4, Seconds(0.5)}};
  measured.lines = {{0, {piece(1, {}, {0}), piece(2, {0}, {1}), piece(3, {1}, {})}}};
  return measured;
}

long count(const sim::Program& program, sim::WorkKind kind)
{
  return std::count_if(program.operations.begin(), program.operations.end(),
                       [kind](const auto& op) { return op.kind == kind; });
}

} // namespace

TEST_CASE("every rank runs a line and a group of two of eight ranks exchanges four times")
{
  const sim::Program program = recorded_program(two_exchanges(), {.name = "job", .ranks = 8});
  program.check();
  CHECK(count(program, sim::WorkKind::compute) == 3 * 8);
  CHECK(count(program, sim::WorkKind::collective) == 1 + 4);
  REQUIRE(program.groups.size() == 5);
  CHECK(program.groups[0].ranks.size() == 8);
  CHECK(program.groups[1].ranks == std::vector<int>{0, 4});
  CHECK(program.groups[4].ranks == std::vector<int>{3, 7});
  CHECK(program.streams.size() == 3); // groups of other ranks have a stream of their own
  for (const sim::Operation& op : program.operations)
    if (op.kind == sim::WorkKind::collective)
      CHECK(op.amount == (op.collective == sim::CollectiveKind::all_to_all ? 1e6 : 2e6));
}

TEST_CASE("kernels are scaled, what a rank waited for others is not")
{
  const RecordedJob job{.name = "job", .ranks = 8, .batch = 2, .ratios = {0.5, 1}, .launch = {}};
  const sim::Program program = recorded_program(two_exchanges(), job);
  double kernels = 0;
  double waits = 0;
  for (const sim::Operation& op : program.operations) {
    kernels += op.kind == sim::WorkKind::compute ? op.amount : 0;
    waits += op.kind == sim::WorkKind::wait ? op.amount : 0;
  }
  CHECK(kernels == Approx(8 * 6.0)); // twice the batch, half the time
  CHECK(waits == Approx(4 * 0.5));   // once in each group
}

TEST_CASE("recorded groups must divide the job and all ranks may be any number")
{
  CHECK(problem_with_ranks(two_exchanges(), 16).empty());
  CHECK_THAT(problem_with_ranks(two_exchanges(), 12), Catch::Contains("multiple of 8 ranks"));
  CHECK_THROWS_AS(recorded_program(two_exchanges(), {.name = "job", .ranks = 12}),
                  std::logic_error);
  MeasuredSpec all = two_exchanges();
  all.exchanges.pop_back();
  CHECK(problem_with_ranks(all, 3).empty());
}

} // namespace foretrain::recorded_program_test
