// Pipelines whose pieces go down the stages and come back.
#include "models/plans/v_schedules.hpp"

#include "models/plans/divided.hpp"
#include "models/plans/memory.hpp"
#include "models/plans/pipeline.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/small_plan.hpp"

#include <map>

namespace foretrain::models::v_schedules_test {

namespace {

// Of equal pieces that take 1 forward and 2 backward, half of it for gradients of weights.
PipelineSetting equal_pieces(int stages, int micro_batches, PipelineSchedule schedule)
{
  PipelineSetting s;
  s.stages = stages;
  s.virtual_stages = 2;
  s.schedule = schedule;
  s.micro_batches = micro_batches;
  s.blocking = false;
  s.pieces.assign(static_cast<std::size_t>(2 * stages),
                  {Seconds(1), Seconds(2), Seconds(1), Seconds(0)});
  return s;
}

double bubble(const PipelineSetting& s)
{
  return run_pipeline(s).end.value() - 6.0 * s.micro_batches;
}

constexpr PipelineSchedule kBoth[] = {PipelineSchedule::zb_v, PipelineSchedule::dualpipe_v};

} // namespace

TEST_CASE("each stage does each pass of its two pieces once, backward behind forward", "[plans]")
{
  for (const PipelineSchedule schedule : kBoth)
    for (const int stages : {2, 3, 4, 8})
      for (const int micro : {2 * stages, 2 * stages + 1, 5 * stages}) {
        CAPTURE(word_of(schedule), stages, micro);
        const StageOrders orders = stage_orders(equal_pieces(stages, micro, schedule));
        REQUIRE(orders.size() == static_cast<std::size_t>(stages));
        for (int stage = 0; stage < stages; ++stage) {
          std::map<std::pair<int, bool>, int> next; // of each piece, micro-batches in their order
          int kept = 0;
          int most = 0;
          for (const PipelineSlice& slice : orders[static_cast<std::size_t>(stage)]) {
            CHECK((slice.piece == stage || slice.piece == 2 * stages - 1 - stage));
            CHECK(slice.micro_batch == next[{slice.piece, slice.backward}]++);
            if (slice.backward)
              CHECK(slice.micro_batch < next[{slice.piece, false}]);
            kept += slice.backward ? -1 : 1;
            most = std::max(most, kept);
          }
          for (const auto& [pass, count] : next)
            CHECK(count == micro);
          CHECK(next.size() == 4);
          ParallelPlan plan;
          plan.pipeline = stages;
          plan.virtual_stages = 2;
          plan.schedule = schedule;
          CHECK(most <= held_micro_batches(plan, micro, stage));
          if (stage == 0)
            CHECK(most == held_micro_batches(plan, micro, stage));
        }
      }
}

TEST_CASE("bubbles of pipelines that come back are those of their papers", "[plans][closed-form]")
{
  for (const int p : {2, 4, 8})
    for (const int m : {2 * p, 4 * p, 64}) {
      CAPTURE(p, m);
      // (p - 1)(F&B + B - 3 W) of deepseek-ai/DualPipe, F&B one after the other here.
      CHECK(bubble(equal_pieces(p, m, PipelineSchedule::dualpipe_v)) == (p - 1) * (3 + 2 - 3));
      // Nothing but the way down (arXiv:2401.10241, figure 5).
      CHECK(bubble(equal_pieces(p, m, PipelineSchedule::zb_v)) == p - 1);
    }
}

TEST_CASE("gradients of weights that are put off are made once, behind their passes", "[plans]")
{
  for (const auto schedule :
       {PipelineSchedule::zero_bubble, PipelineSchedule::zb_v, PipelineSchedule::dualpipe_v})
    for (const int stages : {2, 3, 4, 8})
      for (const int micro : {1, 2 * stages, 5 * stages}) {
        if (schedule == PipelineSchedule::dualpipe_v && micro < 2 * stages)
          continue;
        CAPTURE(word_of(schedule), stages, micro);
        PipelineSetting s = equal_pieces(stages, micro, schedule);
        if (schedule == PipelineSchedule::zero_bubble) {
          s.virtual_stages = 1;
          s.pieces.resize(static_cast<std::size_t>(stages));
        }
        const StageOrders orders = stage_orders(s);
        for (int stage = 0; stage < stages; ++stage) {
          int waiting = 0;
          int most = 0;
          for (const PipelineSlice& slice : orders[static_cast<std::size_t>(stage)]) {
            waiting += slice.split ? 1 : 0;
            most = std::max(most, waiting);
            waiting -= slice.weights;
            CHECK(waiting >= 0);
          }
          CHECK(waiting == 0);
          if (schedule == PipelineSchedule::zero_bubble)
            CHECK(most == std::min(stage + 1, micro));
        }
      }
}

TEST_CASE("what pieces take shapes the order of ZB-V, which ends for any of it", "[plans]")
{
  for (const int p : {2, 4, 8})
    for (const double backward : {1.2, 2.0, 3.0})
      for (const double weights : {0.8, 1.1})
        for (const double transfer : {0.0, 0.1, 1.0}) {
          CAPTURE(p, backward, weights, transfer);
          PipelineSetting s = equal_pieces(p, 6 * p, PipelineSchedule::zb_v);
          s.pieces.assign(s.pieces.size(),
                          {Seconds(1), Seconds(backward), Seconds(weights), Seconds(transfer)});
          const double work = 2.0 * s.micro_batches * (1 + backward);
          const double end = run_pipeline(s).end.value();
          CHECK(end >= work);
          for (const auto& order : stage_orders(s)) { // no more than 1F1B's first stage keeps
            int begun = 0;
            for (const PipelineSlice& slice : order) {
              begun += slice.backward ? -1 : 1;
              CHECK(begun <= 2 * p);
            }
          }
          // 1F1B of whole stages, whose passes take as long as both of their pieces'.
          PipelineSetting plain = s;
          plain.schedule = PipelineSchedule::one_f_one_b;
          plain.virtual_stages = 1;
          plain.pieces.assign(static_cast<std::size_t>(p),
                              {Seconds(2), Seconds(2 * backward), Seconds(0), Seconds(transfer)});
          if (transfer < 1)
            CHECK(end < run_pipeline(plain).end.value() * 1.02);
        }
}

TEST_CASE("the two pieces in the middle are on one stage, and send nothing", "[plans]")
{
  PipelineSetting s = equal_pieces(4, 8, PipelineSchedule::dualpipe_v);
  for (PieceTime& piece : s.pieces)
    piece.transfer = Seconds(0.5);
  const auto sent = [&](int piece, bool backward) {
    PipelineSlice slice;
    slice.piece = piece;
    slice.backward = backward;
    return transfer_time(s, slice).value();
  };
  CHECK(sent(2, false) == 0.5);
  CHECK(sent(3, false) == 0);
  CHECK(sent(4, true) == 0);
  CHECK(sent(4, false) == 0.5);
  CHECK(sent(7, false) == 0);
  CHECK(stage_of_piece(PipelineSchedule::zb_v, 4, 3) == 3);
  CHECK(stage_of_piece(PipelineSchedule::zb_v, 4, 4) == 3);
  CHECK(stage_of_piece(PipelineSchedule::zb_v, 4, 7) == 0);
  CHECK(stage_of_piece(PipelineSchedule::interleaved, 4, 7) == 3);
}

TEST_CASE("a plan that comes back has embedding and logits on its first stage", "[plans]")
{
  StepSetting s = test::small_model(8);
  s.memory.model.tied = false;
  s.memory.model.positions = 0;
  s.memory.plan.pipeline = 2;
  s.memory.plan.schedule = PipelineSchedule::zb_v;
  s.memory.plan = as_meant(s.memory.plan);
  REQUIRE(s.memory.plan.virtual_stages == 2);
  s.memory.batch.micro_batches = 6;
  s.memory.batch.data = 1;
  CHECK(s.memory.plan.pieces_on(0) == std::vector<std::size_t>{0, 3});
  const auto memory = stage_memory(s.memory);
  const double table = 32000.0 * 1024 * 2;
  CHECK((memory[0].weights - memory[1].weights).value() == Approx(2 * table).epsilon(0.05));
  s.memory.model.tied = true; // one table for both
  CHECK((stage_memory(s.memory)[0].weights - memory[1].weights).value() ==
        Approx(table).epsilon(0.05));
  test::EqualTimes times(test::kExchange);
  const PlannedStep step = plan_step(s, times);
  const sim::Program program = divided_program(s, step, times, nullptr, false);
  program.check();
  int transfers = 0;
  std::map<int, double> computed;
  for (const sim::Operation& op : program.operations) {
    transfers += op.kind == sim::WorkKind::transfer ? 1 : 0;
    if (op.kind == sim::WorkKind::compute && op.phase != sim::Phase::optimizer)
      computed[op.rank] += op.amount;
  }
  CHECK(transfers == 6 * 2 * 2); // of four pieces, but the two in the middle
  for (const int stage : {0, 1}) {
    double pieces = 0;
    for (const std::size_t p : s.memory.plan.pieces_on(stage))
      pieces += 6 * (step.pieces[p].forward_compute + step.pieces[p].backward_compute).value();
    CHECK(computed[stage] == Approx(pieces));
  }
  CHECK(as_meant({}).virtual_stages == 1);
}

} // namespace foretrain::models::v_schedules_test
