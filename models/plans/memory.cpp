#include "models/plans/memory.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

// CUDA's context and kernels, and the collective library's buffers: of the order of 1 GB.
constexpr double kContext = 1.0e9;

struct Kept {
  double outside = 0; // elements per token that every tensor-parallel rank keeps
  double inside = 0;  // that they share
  double masks_outside = 0;
  double scores = 0; // bytes per pair of tokens and head
};

Kept kept_by_attention(const Transformer& t, bool flash, Recompute recompute)
{
  Kept kept;
  kept.outside = 2.0 * t.hidden; // of the norm before it, and of the first product
  const double value =
      t.latent && t.latent->value_size > 0 ? t.latent->value_size : static_cast<double>(t.head());
  if (t.latent) {
    const double query = t.head() + t.latent->rotary_size;
    kept.outside += t.latent->query_rank + t.latent->kv_rank + t.latent->rotary_size;
    kept.inside = t.heads * (2 * query + 2 * value);
  } else {
    kept.inside = (2.0 * t.heads + 2.0 * t.kv()) * t.head();
  }
  if (t.has_bias())
    kept.masks_outside = t.hidden;
  if (!flash && recompute == Recompute::none)
    kept.scores = t.has_bias() ? 5 : 4; // softmax, and with dropout its mask and result
  return kept;
}

double kept_by_ffn(const Transformer& t, double inner)
{
  return inner * (t.gated ? 3.0 : 2.0);
}

} // namespace

Bytes layer_activations(const MemorySetting& s, bool with_experts)
{
  const Transformer& t = s.model;
  const double tokens =
      static_cast<double>(s.batch.micro_batch) * s.batch.sequence / s.plan.context;
  const double tensor = s.plan.tensor;
  const double replicated = s.plan.sequence_parallel ? tensor : 1.0;
  if (s.recompute == Recompute::full)
    return Bytes(tokens * t.hidden * s.element / replicated);
  Kept kept = kept_by_attention(t, s.flash, s.recompute);
  double routed = 0;
  kept.outside += 2.0 * t.hidden; // of the second norm, and of the first product
  if (with_experts && t.experts > 0) {
    // Routed tokens are kept as they came and as they leave; experts share the whole group's.
    const double share = s.plan.sequence_parallel ? s.plan.expert_tensor / tensor : 1.0;
    routed = share * tokens * t.top_k *
             (2.0 * t.hidden + kept_by_ffn(t, t.expert_inner()) / s.plan.expert_tensor) * s.element;
    kept.outside += 2.0 * t.experts;
    kept.inside += kept_by_ffn(t, static_cast<double>(t.shared_experts) * t.expert_inner());
  } else {
    kept.inside += kept_by_ffn(t, t.inner());
  }
  if (t.has_bias())
    kept.masks_outside += t.hidden;
  const double pairs = static_cast<double>(s.batch.micro_batch) * s.batch.sequence *
                       s.batch.sequence / s.plan.context * t.heads / tensor;
  return Bytes(tokens * (kept.outside * s.element + kept.masks_outside) / replicated +
               tokens * kept.inside / tensor * s.element + kept.scores * pairs + routed);
}

double held_micro_batches(const ParallelPlan& plan, int micro_batches, int stage)
{
  const int pieces = plan.virtual_stages;
  if (plan.schedule == PipelineSchedule::gpipe)
    return static_cast<double>(micro_batches) * pieces;
  if (pieces == 1)
    return std::min(plan.pipeline - stage, micro_batches);
  // Pieces that have gone forward before the first one comes back (arXiv:2104.04473, section 2.2).
  const int warm_up = 2 * (plan.pipeline - stage - 1) + (pieces - 1) * plan.pipeline + 1;
  return std::min(warm_up, micro_batches * pieces);
}

std::vector<StageMemory> stage_memory(const MemorySetting& s)
{
  const Transformer& t = s.model;
  const ParallelPlan& plan = s.plan;
  const auto pieces = pieces_of(t, plan);
  const double replicas = static_cast<double>(s.batch.data) * plan.context;
  const double expert_replicas =
      std::max(1.0, replicas * plan.tensor / (plan.expert * plan.expert_tensor));
  const double tokens = static_cast<double>(s.batch.micro_batch) * s.batch.sequence / plan.context;
  const double dense_bytes = layer_activations(s, false).value();
  const double expert_bytes = layer_activations(s, true).value();
  std::vector<StageMemory> stages(static_cast<std::size_t>(plan.pipeline));
  for (int stage = 0; stage < plan.pipeline; ++stage) {
    StageMemory& m = stages[static_cast<std::size_t>(stage)];
    double kept = 0;        // of a micro-batch by the stage's pieces
    double most_layers = 0; // parameters of the largest layer
    PieceParameters held;
    double other = kContext;
    for (std::size_t p = static_cast<std::size_t>(stage); p < pieces.size();
         p += static_cast<std::size_t>(plan.pipeline)) {
      const Piece& piece = pieces[p];
      const PieceParameters own = parameters_of(piece, t, plan);
      held.shared += own.shared;
      held.experts += own.experts;
      kept += piece.dense * dense_bytes + piece.experts * expert_bytes;
      most_layers = std::max(most_layers, own.total() / std::max(1, piece.layers()));
      // Logits in single precision and what the loss needs of them; embedding's dropout.
      if (piece.output)
        other += tokens * (static_cast<double>(t.vocabulary) / plan.tensor * (4 + s.element) +
                           2 * s.element * t.hidden);
      if (piece.embedding && t.has_bias())
        other += tokens * t.hidden;
    }
    const auto divided = [&](int from_stage, double bytes, double by) {
      return plan.zero >= from_stage
                 ? bytes * (held.shared / std::max(1.0, by) +
                            held.experts / std::max(1.0, by * expert_replicas / replicas))
                 : bytes * held.total();
    };
    const double group = plan.zero == 3 ? s.shard : replicas;
    m.weights = Bytes(divided(3, s.state.weight, group));
    m.gradients = Bytes(divided(2, s.state.gradient, group));
    m.optimizer = Bytes((1 - s.state.offload) * divided(1, s.state.optimizer, group));
    // With zero 3 two layers are there as a whole, with the gradients of one.
    if (plan.zero == 3)
      other += most_layers * (2 * s.element + s.state.gradient);
    const double micro =
        held_micro_batches(plan, s.batch.micro_batches, stage) / plan.virtual_stages;
    // While a layer is repeated, what it keeps is there once more.
    const double repeated =
        s.recompute == Recompute::full
            ? [&] {
                MemorySetting whole = s;
                whole.recompute = Recompute::none;
                return layer_activations(whole, t.experts > 0).value();
              }()
            : 0;
    m.activations = Bytes(kept * micro + repeated);
    m.other = Bytes(other);
  }
  return stages;
}

} // namespace foretrain::models
