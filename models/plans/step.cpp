#include "models/plans/step.hpp"

#include "models/plans/optimizer_time.hpp"
#include "models/plans/orthogonal.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

// What of an exchange stays outside when work of `beside` runs at the same time, and what that
// work takes longer.
Seconds left_over(Seconds exchange, Seconds beside, double cost)
{
  const Seconds hidden = std::min(exchange, beside);
  return exchange - hidden + cost * hidden;
}

// Calls of a stage among those that hold the same, once a step.
struct DataCalls {
  PlannedCalls gradients;
  PlannedCalls parameters;
};

DataCalls data_calls(const StepSetting& s, const ExchangeTimes& exchanges,
                     const PieceParameters& trained, const PieceParameters& held)
{
  const ParallelPlan& plan = s.memory.plan;
  const double gradient = s.rules.reduce == GradientPrecision::fp32 ? 4 : s.memory.element;
  const bool of_node = plan.shard == ZeroShard::node && plan.zero > 0;
  DataCalls data;
  const bool keeps = s.memory.keeps_weights();
  const bool of_passes =
      plan.zero == 2 && !keeps; // gradients, and weights where these are shared out again
  const auto add = [&](PlanGroup group, double parameters, double gathered) {
    if (exchanges.ranks(group) < 2 || (plan.zero == 3 && !keeps))
      return;
    const bool whole = plan.zero == 0 || (s.rules.all_reduce_gradients && plan.zero == 1);
    if (parameters > 0 && !of_passes)
      data.gradients.push_back({group, whole ? Operation::all_reduce : Operation::reduce_scatter,
                                Bytes(parameters * gradient)});
    if (plan.zero > 0 && gathered > 0 && !(of_passes && s.rules.reshard_after_backward))
      data.parameters.push_back({group, Operation::all_gather, Bytes(gathered * s.memory.element)});
  };
  // What the optimizer changed, or all that is kept.
  const PieceParameters& gathered = keeps ? held : trained;
  add(of_node ? PlanGroup::shard : PlanGroup::data, trained.shared, gathered.shared);
  add(PlanGroup::expert_data, trained.experts, gathered.experts);
  // Shards of a node are added up among the nodes.
  if (of_node && exchanges.ranks(PlanGroup::across) > 1)
    data.gradients.push_back(
        {PlanGroup::across, Operation::all_reduce,
         Bytes(trained.total() * gradient / exchanges.ranks(PlanGroup::shard))});
  return data;
}

// Of what a stage's data-parallel ranks exchange, the share that nothing of its passes can hide: of
// its outermost layer, and of the embedding before it, whose gradient is the last to be whole and
// whose values are the first to be needed. Logits are at the other end.
struct Outermost {
  double shared = 1;  // of what all ranks hold
  double experts = 1; // and of experts
};

Outermost outermost(const StepSetting& s, const std::vector<Piece>& pieces, int stage,
                    const PieceParameters& trained, int layers)
{
  Outermost share;
  share.shared = share.experts = 1.0 / std::max(1, layers);
  if (s.memory.adapters || trained.shared <= 0)
    return share;
  EndParameters ends;
  for (const std::size_t p : s.memory.plan.pieces_on(stage)) {
    const EndParameters of = end_parameters(pieces[p], s.memory.model, s.memory.plan);
    ends.embedding += of.embedding;
    ends.output += of.output;
  }
  const double in_layers = trained.shared - ends.total();
  share.shared = (ends.embedding + in_layers * share.experts) / trained.shared;
  return share;
}

// What the stage's data-parallel exchanges add to the end and the beginning of a step: all of them,
// or those of its outermost parts and what does not ride beside the others.
Exposure exposed(const StepSetting& s, ExchangeTimes& exchanges, PlannedCalls calls, bool overlaps,
                 const Outermost& share, Seconds beside)
{
  const Seconds whole = exchanges.time_of(calls);
  if (!overlaps)
    return {whole, whole, std::move(calls)};
  Seconds tail;
  for (const PlannedCall& call : calls)
    tail += (call.group == PlanGroup::expert_data ? share.experts : share.shared) *
            exchanges.time_of({call});
  return {whole, tail + left_over(whole - tail, beside, s.rules.overlap_cost), std::move(calls)};
}

StageEnds stage_ends(const StepSetting& s, ExchangeTimes& exchanges,
                     const std::vector<Piece>& pieces, const std::vector<PieceCost>& costs,
                     int stage)
{
  PieceParameters trained, held;
  int layers = 0;
  LayerRuns runs;
  Seconds forward; // one pass of each piece
  for (const std::size_t p : s.memory.plan.pieces_on(stage)) {
    trained += trained_of(pieces[p], s.memory.model, s.memory.plan, s.memory.adapters);
    held += parameters_of(pieces[p], s.memory.model, s.memory.plan);
    layers += costs[p].layers;
    forward += costs[p].forward();
    for (const LayerRun& run : pieces[p].runs)
      add(runs, run.parts, run.count);
    add(runs, s.memory.model.prediction_parts(), pieces[p].predictions);
  }
  // The pass of its first piece is a stage's first and, backward, its last one. Weights that are
  // kept are gathered beside the first pass of each piece, and nothing is beside their gradients.
  const bool keeps = s.memory.keeps_weights();
  const PieceCost& first = costs[static_cast<std::size_t>(stage)];
  DataCalls data = data_calls(s, exchanges, trained, held);
  StageEnds ends;
  const bool beside = s.hides_gradients() && !keeps;
  const Outermost share = outermost(s, pieces, stage, trained, layers);
  ends.gradients =
      exposed(s, exchanges, std::move(data.gradients), beside, share, first.backward());
  ends.parameters = exposed(s, exchanges, std::move(data.parameters), s.rules.overlap_parameters,
                            share, keeps ? forward : first.forward());
  const OperatorTime update = optimizer_time(s, trained, layers);
  ends.optimizer = update.device + orthogonal_time(s, runs);
  ends.idle = update.idle;
  if (keeps)
    ends.optimizer +=
        Bytes(held.total() * s.rules.gather_bytes + trained.total() * s.rules.reduce_bytes) /
        s.device.memory;
  return ends;
}

} // namespace

PlannedStep plan_step(const StepSetting& s, ExchangeTimes& exchanges)
{
  const ParallelPlan& plan = s.memory.plan;
  const auto pieces = pieces_of(s.memory.model, plan, s.memory.treatments);
  PlannedStep step;
  PipelineSetting& pipeline = step.pipeline;
  pipeline.stages = plan.pipeline;
  pipeline.virtual_stages = plan.virtual_stages;
  pipeline.schedule = plan.schedule;
  pipeline.micro_batches = s.memory.batch.micro_batches;
  pipeline.blocking = !s.rules.overlap_pipeline && plan.virtual_stages == 1;
  for (const Piece& piece : pieces) {
    const int number = static_cast<int>(step.pieces.size());
    const int stage = stage_of_piece(plan.schedule, plan.pipeline, number);
    const bool back = returns(plan.schedule) && number >= plan.pipeline;
    exchanges.of_stage(stage);
    step.pieces.push_back(piece_cost(s, piece, exchanges));
    const PieceCost& cost = step.pieces.back();
    pipeline.pieces.push_back(
        {cost.forward(), cost.backward(), 0.4 * cost.backward_compute,
         plan.pipeline > 1
             ? exchanges.transfer(back ? std::max(0, stage - 1) : stage, transfer_size(s))
             : Seconds(0)});
  }
  step.run = run_pipeline(pipeline);
  for (int stage = 0; stage < plan.pipeline; ++stage) {
    exchanges.of_stage(stage);
    step.ends.push_back(stage_ends(s, exchanges, pieces, step.pieces, stage));
  }
  return step;
}

} // namespace foretrain::models
