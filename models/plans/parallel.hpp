// How a large model's job is divided among its GPUs.
#pragma once

#include "models/plans/sequence_lengths.hpp"
#include "models/training/transformer_rules.hpp"
#include "models/transformer/spec.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::models {

/// Order of micro-batches in a pipeline.
enum class PipelineSchedule { gpipe, one_f_one_b, interleaved, zero_bubble, zb_v, dualpipe_v };
constexpr auto choices(PipelineSchedule)
{
  return std::to_array<Choice<PipelineSchedule>>({{PipelineSchedule::gpipe, "gpipe"},
                                                  {PipelineSchedule::one_f_one_b, "1f1b"},
                                                  {PipelineSchedule::interleaved, "interleaved"},
                                                  {PipelineSchedule::zero_bubble, "zero-bubble"},
                                                  {PipelineSchedule::zero_bubble, "zb-h1"},
                                                  {PipelineSchedule::zb_v, "zb-v"},
                                                  {PipelineSchedule::dualpipe_v, "dualpipe-v"}});
}

/// Whether pieces go down all stages and come back, two on each.
inline bool returns(PipelineSchedule schedule)
{
  return schedule == PipelineSchedule::zb_v || schedule == PipelineSchedule::dualpipe_v;
}

/// Where a piece stands: in turn, or on the way down and back.
inline int stage_of_piece(PipelineSchedule schedule, int stages, int piece)
{
  return returns(schedule) && piece >= stages ? 2 * stages - 1 - piece : piece % stages;
}

/// Zero 3: over all data-parallel ranks or those of a node.
enum class ZeroShard { all, node };
constexpr auto choices(ZeroShard)
{
  return std::to_array<Choice<ZeroShard>>({{ZeroShard::all, "all"}, {ZeroShard::node, "node"}});
}

/// How context-parallel GPUs see each other's keys and values: these go round a ring, each step
/// beside attention to those that are there, or all are gathered before it.
enum class ContextExchange { ring, all_gather };
constexpr auto choices(ContextExchange)
{
  return std::to_array<Choice<ContextExchange>>(
      {{ContextExchange::ring, "ring"}, {ContextExchange::all_gather, "all-gather"}});
}

struct ParallelPlan {
  int tensor = 1;
  bool sequence_parallel = false;
  int context = 1;
  ContextExchange context_exchange = ContextExchange::ring;
  int context_heads = 1; // of context-parallel GPUs, those that share heads instead
  int pipeline = 1;
  int virtual_stages = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::optional<int> first_stage_layers, last_stage_layers; // absent: as `cut` says
  std::vector<int> stage_layers; // of each piece in the order of the forward pass; empty: likewise
  StageCut cut = StageCut::even; // the framework's
  int expert = 1;
  int expert_tensor = 1;
  int zero = 0;
  ZeroShard shard = ZeroShard::all;

  /// Parts that a sequence's attention is cut into.
  int context_parts() const { return context / context_heads; }
  /// Numbers of a stage's pieces, in the order of the forward pass.
  std::vector<std::size_t> pieces_on(int stage) const
  {
    std::vector<std::size_t> pieces;
    for (int piece = 0; piece < pipeline * virtual_stages; ++piece)
      if (stage_of_piece(schedule, pipeline, piece) == stage)
        pieces.push_back(static_cast<std::size_t>(piece));
    return pieces;
  }
};

template <class V>
void describe(V& v, ParallelPlan& s)
{
  v.optional("tensor", s.tensor, "GPUs that share each product (Megatron)", between(1, 65536));
  v.optional("sequence_parallel", s.sequence_parallel,
             "norms and residuals are cut along the sequence among the same GPUs");
  v.optional("context", s.context, "GPUs that share each sequence", between(1, 65536));
  v.optional("context_exchange", s.context_exchange,
             "how they see each other's keys and values: these go round a ring beside attention "
             "(Megatron's p2p), or are gathered before it (all-gather, as Llama 3 was trained)");
  v.optional("context_heads", s.context_heads,
             "of the context-parallel GPUs so many, neighbours, turn tokens into heads before "
             "attention and back (Megatron's a2a, DeepSpeed-Ulysses: all of them; a2a+p2p: a part, "
             "and rings among the others)",
             between(1, 65536));
  v.optional("pipeline", s.pipeline, "stages of layers", between(1, 10000));
  v.optional("virtual_stages", s.virtual_stages, "pieces of layers on each stage (interleaved)",
             between(1, 10000));
  v.optional("schedule", s.schedule, "order of micro-batches in the pipeline");
  v.optional("first_stage_layers", s.first_stage_layers,
             "layers of the first stage; default: as even as can be, or as the framework cuts",
             between(0, 10000));
  v.optional("last_stage_layers", s.last_stage_layers, "and of the last one", between(0, 10000));
  v.optional("stage_layers", s.stage_layers,
             "layers of each stage, in the order of the forward pass; with virtual_stages of each "
             "of their pieces (Megatron-Core's pipeline_model_parallel_layout)",
             between(0, 10000));
  v.optional("expert", s.expert, "GPUs that share the experts of a layer", between(1, 65536));
  v.optional("expert_tensor", s.expert_tensor, "GPUs that share each expert", between(1, 65536));
  v.optional(
      "zero", s.zero,
      "what data-parallel ranks share out: 1 optimizer state, 2 gradients too, 3 weights too",
      between(0, 3));
  v.optional("shard", s.shard,
             "zero 1 and 3: over all data-parallel ranks, or those of a node, between which "
             "gradients are added up");
  v.abbreviated({{"tp", "tensor"},
                 {"sp", "sequence_parallel"},
                 {"cp", "context"},
                 {"pp", "pipeline"},
                 {"vp", "virtual_stages"},
                 {"vpp", "virtual_stages"},
                 {"ep", "expert"},
                 {"etp", "expert_tensor"}});
}

/// A plan as it is meant: schedules that go down the stages and back have two pieces on each, and
/// several pieces on each that do not are interleaved.
ParallelPlan as_meant(ParallelPlan plan);

/// A job's batch under a plan.
struct PlannedBatch {
  int gpus = 1;
  int sequence = 2048;
  int micro_batch = 1;
  int global_batch = 1;
  int data = 1;                             // data-parallel ranks: what is left of the GPUs
  int micro_batches = 1;                    // of each of them and step
  std::optional<SequenceLengths> lengths{}; // absent: all as long as `sequence`

  /// Tokens that a sequence has in the mean.
  double tokens_per_sample() const { return lengths ? lengths->mean : sequence; }
  /// Of equally long sequences, as many tokens in all, that take attention as much work.
  double attended() const { return lengths ? attended_length(*lengths) : sequence; }
  /// Tokens that a micro-batch has at most.
  double most_tokens() const
  {
    return lengths ? models::most_tokens(*lengths, micro_batch, sequence,
                                         static_cast<double>(data) * micro_batches)
                   : static_cast<double>(micro_batch) * sequence;
  }
  /// Standard deviation of a rank's tokens from step to step, relative to their mean; 0 where ranks
  /// are balanced.
  double varying_tokens() const
  {
    return lengths && !lengths->balanced
               ? token_variation(*lengths, static_cast<double>(micro_batch) * micro_batches)
               : 0;
  }
};

/// What a plan that has no problem leaves of a job's batch.
PlannedBatch planned_batch(const ParallelPlan& plan, int gpus, int sequence, int micro_batch,
                           int global_batch);

/// The same batch under another plan, in passes of another size.
PlannedBatch planned_batch(const ParallelPlan& plan, const PlannedBatch& of, int micro_batch);

/// The same; throws ConfigError at `job` (a job of an experiment) for what
/// does not divide, with the nearest values that do.
PlannedBatch check_plan(const Value& job, const Transformer& t, const ParallelPlan& plan, int gpus,
                        int sequence, int micro_batch, int global_batch);

/// Pieces that each of so many stages may have: 1, and what leaves every piece equally many layers,
/// or does so where embedding and loss count as a layer each (Megatron-LM, arguments.py).
std::vector<int> even_virtual_stages(int layers, int pipeline);

/// What does not divide, or "".
std::string problem_of(const Transformer& t, const ParallelPlan& plan, int gpus, int sequence,
                       int micro_batch, int global_batch);

} // namespace foretrain::models
