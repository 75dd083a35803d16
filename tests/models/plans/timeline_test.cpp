// The timeline of a large model's step against the step's own parts.
#include "models/plans/timeline.hpp"

#include <catch2/catch.hpp>

#include <map>

namespace foretrain::models {

namespace {

class EqualTimes final : public ExchangeTimes {
public:
  Seconds time(PlanGroup, Operation, Bytes) override { return Seconds(1e-4); }
  int ranks(PlanGroup) const override { return 2; }
  Seconds transfer(int, Bytes) override { return Seconds(1e-4); }
};

StepSetting two_stages()
{
  StepSetting s;
  s.memory.model.layers = 8;
  s.memory.model.hidden = 2048;
  s.memory.model.heads = 16;
  s.memory.model.vocabulary = 32000;
  s.memory.plan.tensor = 2;
  s.memory.plan.pipeline = 2;
  s.memory.plan.zero = 1;
  s.memory.batch.gpus = 8;
  s.memory.batch.data = 2;
  s.memory.batch.micro_batches = 4;
  s.memory.recompute = Recompute::full;
  s.device.half.peak = s.device.attention.peak = 100e12;
  s.device.half.memory = s.device.attention.memory = 1e12;
  s.device.memory = BytesPerSecond(1e12);
  s.variation = 0;
  return s;
}

struct Sums {
  std::map<PlanStream, double> length;
  std::map<PlanStream, double> last; // when the one before ends
  bool in_order = true;
};

// Of one stage; spans of a stream must not overlap.
Sums sums(const PlanTimeline& timeline, int stage)
{
  Sums all;
  for (const PlanSpan& span : timeline.spans) {
    if (span.stage != stage)
      continue;
    all.length[span.stream] += (span.finish - span.start).value();
    all.in_order = all.in_order && span.start.value() >= all.last[span.stream] - 1e-12;
    all.last[span.stream] = span.finish.value();
  }
  return all;
}

} // namespace

TEST_CASE("a timeline's spans add up to the parts of the step", "[plans][timeline]")
{
  StepSetting s = two_stages();
  for (const bool overlaps : {false, true}) {
    CAPTURE(overlaps);
    s.rules.overlap_gradients = s.rules.overlap_parameters = overlaps;
    EqualTimes times;
    const StepResult step = large_step(s, times);
    const PlanTimeline timeline = plan_timeline(s, step);
    REQUIRE(timeline.layers);
    const Sums of = sums(timeline, step.stage);
    const StepParts& p = step.parts;
    CHECK(of.in_order);
    CHECK(of.length.at(PlanStream::compute) ==
          Approx((p.compute + p.recompute + p.optimizer).value()).epsilon(1e-9));
    // Nothing of these is hidden.
    CHECK(of.length.at(PlanStream::tensor) == Approx(p.tensor.value()).epsilon(1e-9));
    // All of both exchanges, hidden or not.
    CHECK(of.length.at(PlanStream::data) == Approx(2e-4).epsilon(1e-9));
    CHECK(timeline.end.value() ==
          Approx((p.total() - p.framework - p.straggler).value()).epsilon(1e-9));
  }
}

TEST_CASE("a timeline of too many layers has a span for each pass", "[plans][timeline]")
{
  const StepSetting s = two_stages();
  EqualTimes times;
  const StepResult step = large_step(s, times);
  const PlanTimeline timeline = plan_timeline(s, step, 10);
  CHECK_FALSE(timeline.layers);
  int passes = 0;
  for (const PlanSpan& span : timeline.spans)
    if (span.stream == PlanStream::compute && span.micro_batch >= 0)
      ++passes;
  CHECK(passes == 2 * 2 * 4);
}

TEST_CASE("layers keep their numbers through stages and turn round in backward",
          "[plans][timeline]")
{
  const StepSetting s = two_stages();
  EqualTimes times;
  const StepResult step = large_step(s, times);
  std::vector<std::string> names;
  for (const PlanSpan& span : plan_timeline(s, step).spans)
    if (span.stage == 1 && span.stream == PlanStream::compute && span.micro_batch == 0)
      names.push_back(span.name);
  CHECK(names == std::vector<std::string>{
                     "layer 4, forward", "layer 5, forward", "layer 6, forward", "layer 7, forward",
                     "logits and loss, forward", "logits and loss, backward", "layer 7, backward",
                     "layer 6, backward", "layer 5, backward", "layer 4, backward"});
}

} // namespace foretrain::models
