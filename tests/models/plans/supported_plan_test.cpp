// What a framework's program lacks of a plan.
#include "models/plans/supported_plan.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::supported_plan_test {

using namespace foretrain::models;
using Catch::Matchers::Contains;

namespace {

ParallelPlan stages(int pipeline, int zero = 0,
                    PipelineSchedule schedule = PipelineSchedule::one_f_one_b)
{
  ParallelPlan plan;
  plan.pipeline = pipeline;
  plan.zero = zero;
  plan.schedule = schedule;
  return plan;
}

ParallelPlan sequences(int context, int heads)
{
  ParallelPlan plan;
  plan.context = context;
  plan.context_heads = heads;
  return plan;
}

} // namespace

TEST_CASE("a framework that tells no limits has every way to divide a model", "[models][plans]")
{
  for (const auto& schedule : choices(PipelineSchedule{}))
    for (const int zero : {0, 1, 2, 3}) {
      ParallelPlan plan = stages(2, zero, schedule.value);
      plan.tensor = 2;
      plan.context = 4;
      plan.context_heads = 2;
      CHECK(unsupported({}, plan) == "");
    }
}

TEST_CASE("what a framework lacks of a plan is named, with what it has", "[models][plans]")
{
  PlanLimits limits;
  limits.zero = {1};
  limits.schedules = {"1f1b"};
  CHECK(unsupported(limits, stages(1)) == "");
  CHECK(unsupported(limits, stages(1, 1)) == "");
  CHECK(unsupported(limits, stages(1, 3)) == "ZeRO 3 (it has 1)");
  CHECK(unsupported(limits, stages(2)) == "");
  CHECK(unsupported(limits, stages(2, 0, PipelineSchedule::interleaved)) ==
        "schedule interleaved (it has 1f1b)");
  CHECK(unsupported(limits, stages(1, 0, PipelineSchedule::interleaved)) == ""); // no stages
  limits.schedules.clear();
  CHECK(unsupported(limits, stages(2)) == "pipeline stages");
  CHECK(unsupported(limits, stages(1)) == "");
  limits.zero.clear();
  CHECK(unsupported(limits, stages(1, 1)) == "ZeRO 1 (it has none)");

  PlanLimits few;
  few.zero_in_pipeline = 1;
  CHECK(unsupported(few, stages(1, 3)) == "");
  CHECK(unsupported(few, stages(2, 1)) == "");
  CHECK(unsupported(few, stages(2, 2)) == "ZeRO 2 with pipeline stages (it has up to 1)");

  PlanLimits whole;
  whole.tensor = false;
  ParallelPlan shared;
  CHECK(unsupported(whole, shared) == "");
  shared.tensor = 2;
  CHECK(unsupported(whole, shared) == "tensor parallelism");
}

TEST_CASE("sequences are shared by rings or by heads where a framework has them", "[models][plans]")
{
  const ParallelPlan rings = sequences(4, 1), heads = sequences(4, 4), both = sequences(4, 2);
  PlanLimits limits;
  limits.context_rings = false;
  CHECK_THAT(unsupported(limits, rings), Contains("by keys and values"));
  CHECK_THAT(unsupported(limits, both), Contains("by keys and values"));
  CHECK(unsupported(limits, heads) == "");
  limits.context_heads = false;
  CHECK(unsupported(limits, rings) == "context parallelism");
  CHECK(unsupported(limits, heads) == "context parallelism by heads");
  CHECK(unsupported(limits, sequences(1, 1)) == "");
  limits.context_rings = true;
  CHECK(unsupported(limits, rings) == "");
  CHECK(unsupported(limits, both) == "context parallelism by heads");
}

} // namespace foretrain::supported_plan_test
