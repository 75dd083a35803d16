// A divided transformer's step as a work program: it computes and exchanges what its plan says.
#include "models/plans/divided.hpp"

#include "models/plans/plan_groups.hpp"

#include <catch2/catch.hpp>

#include <map>

namespace foretrain::models::divided_test {

namespace {

// Every call takes its bytes at one rate, and a latency.
class RateTimes final : public ExchangeTimes {
public:
  explicit RateTimes(const MemorySetting& setting) : setting_(setting) {}
  Seconds time(PlanGroup group, Operation, Bytes size) override
  {
    return ranks(group) < 2 ? Seconds(0) : Seconds(2e-5) + size / BytesPerSecond(50e9);
  }
  int ranks(PlanGroup group) const override { return layout_of(group, setting_).count; }
  Seconds transfer(int, Bytes) override { return Seconds(1e-4); }

private:
  const MemorySetting& setting_;
};

StepSetting model(int tensor, int pipeline, int data, int zero)
{
  StepSetting s;
  Transformer& t = s.memory.model;
  t.layers = 8;
  t.hidden = 2048;
  t.heads = 16;
  t.vocabulary = 32000;
  s.memory.plan.tensor = tensor;
  s.memory.plan.sequence_parallel = tensor > 1;
  s.memory.plan.pipeline = pipeline;
  s.memory.plan.zero = zero;
  s.memory.batch.gpus = tensor * pipeline * data;
  s.memory.batch.data = data;
  s.memory.batch.micro_batches = 6;
  s.memory.batch.global_batch = 6 * data;
  s.memory.recompute = Recompute::full;
  s.device.half.peak = s.device.attention.peak = 100e12;
  s.device.half.memory = s.device.attention.memory = 1e12;
  s.device.memory = BytesPerSecond(1e12);
  return s;
}

struct Sums {
  std::map<sim::Phase, double> seconds; // of the first stage's rank
  std::map<sim::Phase, double> bytes;   // of its collectives
  int transfers = 0;                    // of all stages
};

Sums sums_of(const sim::Program& program)
{
  Sums sums;
  for (const sim::Operation& op : program.operations) {
    if (op.kind == sim::WorkKind::compute && op.rank == 0)
      sums.seconds[op.phase] += op.amount;
    if (op.kind == sim::WorkKind::collective &&
        program.groups[static_cast<std::size_t>(op.group)].ranks.front() == 0)
      sums.bytes[op.phase] += op.calls * op.amount;
    sums.transfers += op.kind == sim::WorkKind::transfer ? 1 : 0;
  }
  return sums;
}

sim::Program program_of(const StepSetting& s, std::vector<bool> busy = {})
{
  RateTimes times(s.memory);
  const PlannedStep step = plan_step(s, times);
  Neighbours neighbours;
  for (int device = 0; device < s.memory.batch.gpus; ++device)
    neighbours.nodes.push_back(device / 4);
  busy.resize(static_cast<std::size_t>(neighbours.nodes.back() + 1), false);
  neighbours.busy = std::move(busy);
  return divided_program(s, step, times, &neighbours, true);
}

} // namespace

TEST_CASE("a stage of a divided model computes what its pieces take", "[plans]")
{
  for (const auto schedule : {PipelineSchedule::one_f_one_b, PipelineSchedule::gpipe,
                              PipelineSchedule::zero_bubble, PipelineSchedule::interleaved}) {
    StepSetting s = model(2, 2, 2, 1);
    s.memory.plan.schedule = schedule;
    s.memory.plan.virtual_stages = schedule == PipelineSchedule::interleaved ? 2 : 1;
    RateTimes times(s.memory);
    const PlannedStep step = plan_step(s, times);
    const sim::Program program = program_of(s);
    program.check();
    REQUIRE(program.ranks.size() == 2);
    CHECK(program.ranks[1].stands_for == 4);
    Sums sums = sums_of(program);
    double forward = 0;
    double backward = 0;
    double again = 0;
    for (std::size_t p = 0; p < step.pieces.size(); p += 2) {
      forward += 6 * step.pieces[p].forward_compute.value();
      backward += 6 * step.pieces[p].backward_compute.value();
      again += 6 * step.pieces[p].recompute.value();
    }
    CHECK(sums.seconds[sim::Phase::forward] == Approx(forward).epsilon(1e-9));
    CHECK(sums.seconds[sim::Phase::backward] + sums.seconds[sim::Phase::recompute] ==
          Approx(backward + again).epsilon(1e-9));
    CHECK(sums.seconds[sim::Phase::recompute] == Approx(again).epsilon(1e-9));
    CHECK(sums.seconds[sim::Phase::optimizer] == Approx(step.ends[0].optimizer.value()));
    // Each micro-batch goes from piece to piece and its gradients come back.
    CHECK(sums.transfers == 6 * 2 * (static_cast<int>(step.pieces.size()) - 1));
  }
}

TEST_CASE("a program ends when the pipeline that it is written from does, whatever the schedule",
          "[plans]")
{
  using enum PipelineSchedule;
  for (const auto schedule : {gpipe, one_f_one_b, interleaved, zero_bubble, zb_v, dualpipe_v})
    for (const int pipeline : {2, 4}) {
      CAPTURE(word_of(schedule), pipeline);
      StepSetting s = model(1, pipeline, 1, 0);
      s.memory.plan.schedule = schedule;
      s.memory.plan.virtual_stages = schedule == interleaved || returns(schedule) ? 2 : 1;
      s.memory.batch.micro_batches = s.memory.batch.global_batch = 12;
      RateTimes times(s.memory);
      const PlannedStep step = plan_step(s, times);
      Seconds optimizer;
      for (const StageEnds& ends : step.ends)
        optimizer = std::max(optimizer, ends.optimizer);
      CHECK(time_of_plan(s, times).step.value() ==
            Approx((step.run.end + optimizer + s.overhead).value()).epsilon(1e-9));
    }
}

TEST_CASE("gradients of weights that are put off have those that are exchanged beside them",
          "[plans]")
{
  // On each stage something waits, until enough of the last pass or of what was put off is done.
  const auto beside = [](PipelineSchedule schedule) {
    StepSetting s = model(1, 2, 2, 0);
    s.memory.plan.schedule = schedule;
    s.rules.overlap_gradients = true;
    const sim::Program program = program_of(s);
    std::map<int, double> until;
    for (const sim::Operation& op : program.operations)
      if (op.name >= 0 &&
          program.names.at(static_cast<std::size_t>(op.name)) == "until gradients are there")
        until[op.rank] += op.amount;
    return until;
  };
  const auto whole = beside(PipelineSchedule::one_f_one_b);
  const auto split = beside(PipelineSchedule::zero_bubble);
  REQUIRE(whole.size() == 2);
  REQUIRE(split.size() == 2);
  for (const int stage : {0, 1})
    CHECK(split.at(stage) < whole.at(stage)); // as gradients of weights are a part of the pass
}

TEST_CASE("a divided model exchanges the bytes of its plan", "[plans]")
{
  // Korthikanti et al., arXiv:2205.05198: an all-gather and a reduce-scatter of s b h around
  // attention and around the feed-forward part, in each pass; full recomputation repeats one.
  const StepSetting s = model(4, 1, 2, 0);
  Sums sums = sums_of(program_of(s));
  const double activations = 2048.0 * 2048 * 2;
  const double layers = 6.0 * 8 * 3 * 4 * activations;
  const double ends = 6.0 * 2 * activations; // embedding ahead, logits back
  CHECK(sums.bytes[sim::Phase::tensor] == Approx(layers + ends).epsilon(1e-9));
  const auto trained = trained_of(pieces_of(s.memory.model, s.memory.plan).front(), s.memory.model,
                                  s.memory.plan, std::nullopt);
  const double gradient = s.rules.reduce == GradientPrecision::fp32 ? 4 : 2;
  CHECK(sums.bytes[sim::Phase::data] == Approx(gradient * trained.total()).epsilon(1e-9));

  // Zero 3: weights twice and gradients once in each micro-batch; what is outside the layers is
  // kept for the backward pass.
  const StepSetting shared = model(1, 1, 8, 3);
  const auto all = trained_of(pieces_of(shared.memory.model, shared.memory.plan).front(),
                              shared.memory.model, shared.memory.plan, std::nullopt);
  const double kept = end_parameters(pieces_of(shared.memory.model, shared.memory.plan).front(),
                                     shared.memory.model, shared.memory.plan)
                          .total();
  CHECK(sums_of(program_of(shared)).bytes[sim::Phase::data] ==
        Approx(6 * ((2 * 2 + gradient) * all.total() - 2 * kept)).epsilon(1e-9));
}

TEST_CASE("layers are written together where a step has very many", "[plans]")
{
  StepSetting s = model(4, 1, 2, 0);
  const std::size_t few = program_of(s).operations.size();
  s.memory.batch.micro_batches = 600;
  s.memory.batch.global_batch = 1200;
  const sim::Program many = program_of(s);
  CHECK(many.operations.size() < 100 * few / 3);
  CHECK(
      sums_of(many).bytes[sim::Phase::tensor] ==
      Approx(100 * sums_of(program_of(model(4, 1, 2, 0))).bytes[sim::Phase::tensor]).epsilon(1e-9));
}

TEST_CASE("the device that is simulated has others on its node", "[plans]")
{
  const StepSetting s = model(2, 2, 8, 0); // 32 devices on 8 nodes
  CHECK(program_of(s).ranks[0].device == 0);
  std::vector<bool> busy(8, false);
  busy[2] = true;
  const sim::Program program = program_of(s, busy);
  CHECK(program.ranks[0].device == 8);
  CHECK(program.ranks[1].device == 16 + 8);
  for (const sim::WorkGroup& group : program.groups) {
    // The first of alike sets is that of the devices that are simulated.
    const int own = program.ranks[static_cast<std::size_t>(group.ranks.front())].device;
    CHECK(std::count(group.devices.front().begin(), group.devices.front().end(), own) == 1);
  }
}

} // namespace foretrain::models::divided_test
