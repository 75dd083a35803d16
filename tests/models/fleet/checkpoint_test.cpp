#include "models/fleet/checkpoint.hpp"

#include "models/fleet/overheads.hpp"
#include "tests/models/fleet/workload.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::checkpoint_test {

using namespace foretrain::models::fleet;

TEST_CASE("Young's and Daly's intervals", "[fleet][closed-form]")
{
  CHECK_THAT(young_interval(Seconds(50), Seconds(10000)).value(), test::is(1000));
  // Daly, equation 37: sqrt(2 C M) (1 + sqrt(C/2M)/3 + (C/2M)/9) - C
  CHECK_THAT(daly_interval(Seconds(50), Seconds(10000)).value(),
             test::is(1000 * (1 + 0.05 / 3 + 0.0025 / 9) - 50));
  CHECK(daly_interval(Seconds(50), Seconds(20)) == Seconds(20));
}

TEST_CASE("blocking checkpoints take their time after each interval of work", "[fleet]")
{
  const Checkpointing checkpointing{Seconds(100), Seconds(7)};
  Progress progress;
  CHECK_THAT(time_to(progress, 100, 1, checkpointing), test::is(100)); // none at the very end
  CHECK_THAT(time_to(progress, 250, 1, checkpointing), test::is(264));
  CHECK_THAT(time_to(progress, 250, 0.5, checkpointing), test::is(500 + 4 * 7));

  // Any way of cutting time into pieces gives the same.
  sim::RandomStream stream(1, "pieces");
  double now = 0;
  while (now < 264) {
    const double step = std::min(264 - now, stream.uniform() * 40);
    advance(progress, step, {1}, checkpointing);
    now += step;
    CHECK_THAT(now + time_to(progress, 250, 1, checkpointing), test::is(264));
  }
  CHECK_THAT(progress.work(), test::is(250));
  CHECK_THAT(progress.writing, test::is(14));
  CHECK_THAT(fail(progress), test::is(50));
  CHECK_THAT(progress.work(), test::is(200));
}

TEST_CASE("a failure during a write takes back the interval before it", "[fleet]")
{
  Progress progress;
  advance(progress, 103, {1}, {Seconds(100), Seconds(7)});
  CHECK_THAT(progress.writing, test::is(3));
  CHECK_THAT(fail(progress), test::is(100));
  CHECK(progress.work() == 0);

  Progress asynchronous;
  const Checkpointing beside{Seconds(100), Seconds(7), true};
  advance(asynchronous, 103, {1}, beside);
  CHECK_THAT(asynchronous.work(), test::is(103)); // nothing waits
  CHECK_THAT(fail(asynchronous), test::is(103));
  advance(asynchronous, 210, {1}, beside);
  CHECK_THAT(fail(asynchronous), test::is(10)); // of 200, which were saved at 207
  CHECK_THAT(asynchronous.work(), test::is(200));
}

TEST_CASE("an asynchronous write goes on through any pieces of time", "[fleet]")
{
  const Checkpointing beside{Seconds(100), Seconds(7), true};
  Progress progress;
  for (const double piece : {60.0, 40.0, 3.0, 3.9})
    advance(progress, piece, {1}, beside);
  CHECK(progress.saved.work == 0); // 6.9 of 7 are written
  advance(progress, 0.2, {1}, beside);
  CHECK_THAT(progress.saved.work, test::is(100));
  CHECK_THAT(progress.work(), test::is(107.1));
  // At half the pace the next one ends at 214.
  advance(progress, 200 - 107.1, {1}, beside);
  advance(progress, 13.9, {1, 1, 0.5}, beside);
  CHECK_THAT(progress.saved.work, test::is(100));
  advance(progress, 0.2, {1, 1, 0.5}, beside);
  CHECK_THAT(progress.saved.work, test::is(200));
}

TEST_CASE("at a changed rate the same work takes longer, and a failure takes less of it", "[fleet]")
{
  Progress progress;
  const Checkpointing none;
  advance(progress, 10, {1}, none);
  advance(progress, 10, {0.5}, none);
  CHECK_THAT(progress.work(), test::is(15));
  CHECK_THAT(time_to(progress, 20, 0.5, none), test::is(10));
  CHECK_THAT(fail(progress), test::is(20)); // wall time
}

TEST_CASE("writes of an attempt, for pictures", "[fleet]")
{
  const auto begins = [](const Checkpointing& checkpointing) {
    std::vector<OverheadSpan> spans;
    add_writes(spans, 3, Seconds(100), Seconds(375), checkpointing);
    std::vector<double> found;
    for (const OverheadSpan& span : spans)
      found.push_back(span.from.value());
    if (!spans.empty())
      CHECK(spans.back().until == Seconds(375)); // it is over
    return found;
  };
  CHECK(begins({Seconds(60), Seconds(10)}) == std::vector<double>{160, 230, 300, 370});
  CHECK(begins({Seconds(60), Seconds(80), true}) == std::vector<double>{160, 240, 320});
  CHECK(begins({Seconds(60), Seconds(0)}).empty());
  CHECK(begins({kNever, Seconds(10)}).empty());
}

} // namespace foretrain::checkpoint_test
