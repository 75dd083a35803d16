#include "models/plans/memory.hpp"

#include "models/transformer/counts.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

// CUDA's context and kernels, and the collective library's buffers: of the order of 1 GB.
constexpr double kContext = 1.0e9;

struct Kept {         // bytes per token
  double outside = 0; // that every tensor-parallel rank keeps
  double inside = 0;  // that they share
  double scores = 0;  // per pair of tokens and head
};

// What the backward pass makes anew, and which products need what goes into them: those that are
// trained, or have an adapter that is.
class Keeping {
public:
  explicit Keeping(const MemorySetting& setting) : s_(setting) {}

  bool repeats(LayerModule module) const
  {
    if (s_.recompute != Recompute::selective)
      return false;
    return s_.modules.empty() ? module == LayerModule::core_attn : among(s_.modules, module);
  }
  bool needs_input(AdapterTarget product) const { return !s_.adapters || s_.adapters->on(product); }
  /// Bytes of a value's mask, where what goes into the product's adapter is dropped in part.
  double mask(AdapterTarget product) const
  {
    return s_.adapters && s_.adapters->dropout && s_.adapters->on(product) ? 1 : 0;
  }

private:
  const MemorySetting& s_;
};

// Of the norm before a part of a layer, and of the first product behind it.
double kept_by_norm(const MemorySetting& s, const Keeping& keeping, bool needed)
{
  const bool result = needed && !keeping.repeats(LayerModule::layernorm);
  return (s.element + (result ? s.product_input() : 0.0)) * s.model.hidden;
}

Kept kept_by_mamba(const MemorySetting& s, const Keeping& keeping)
{
  const Mamba& m = *s.model.mamba;
  Kept kept;
  kept.outside = kept_by_norm(s, keeping, !s.adapters);
  kept.inside =
      s.element * (m.projected() + m.inner()) + (s.adapters ? 0.0 : s.product_input() * m.inner());
  if (m.selective()) // what is convolved, steps, and what makes them
    kept.inside += s.element * (2 * m.inner() + m.narrow());
  return kept;
}

Kept kept_by_attention(const MemorySetting& s, const Keeping& keeping)
{
  const Transformer& t = s.model;
  Kept kept;
  kept.outside = kept_by_norm(s, keeping, keeping.needs_input(AdapterTarget::linear_qkv));
  const double value =
      t.latent && t.latent->value_size > 0 ? t.latent->value_size : static_cast<double>(t.head());
  if (t.latent) {
    const double query = t.head() + t.latent->rotary_size;
    kept.outside += s.element * (t.latent->query_rank + t.latent->kv_rank + t.latent->rotary_size);
    kept.inside = s.element * t.heads * value;
    if (!keeping.repeats(LayerModule::mla_up_proj))
      kept.inside += s.element * t.heads * (2 * query + value);
  } else {
    kept.inside = s.element * (2.0 * t.heads + 2.0 * t.kv()) * t.head();
  }
  if (t.attention_gate)
    kept.inside += s.element * t.heads * value;
  // Attention keeps its result as it is, the product behind it what is made of that.
  if (s.product_input() < s.element || t.attention_gate)
    kept.inside += s.product_input() * t.heads * value;
  // Its adapter keeps what it dropped of that, and a mask; the first one what it dropped instead.
  kept.outside += keeping.mask(AdapterTarget::linear_qkv) * t.hidden;
  kept.inside += keeping.mask(AdapterTarget::linear_proj) * (s.element + 1) * t.heads * value;
  if (t.drops())
    kept.outside += t.hidden; // a mask
  if (!s.flash && !keeping.repeats(LayerModule::core_attn))
    kept.scores = t.drops() ? 5 : 4; // softmax, and with dropout its mask and result
  return kept;
}

Kept kept_by_delta(const MemorySetting& s, const Keeping& keeping)
{
  const DeltaNet& d = *s.model.delta;
  Kept kept;
  kept.outside = kept_by_norm(s, keeping, !s.adapters);
  kept.inside = s.element * (d.projected() + d.convolved() +
                             static_cast<double>(d.heads) * d.chunk + d.values()) +
                (s.adapters ? 0.0 : s.product_input() * d.values());
  if (d.gate_rank > 0) // and what narrow products make
    kept.inside += s.element * (static_cast<double>(d.heads) * d.key() + d.values());
  return kept;
}

Kept kept_by_mixer(const MemorySetting& s, const Keeping& keeping, Mixer mixer)
{
  switch (mixer) {
  case Mixer::none:
    break;
  case Mixer::attention:
    return kept_by_attention(s, keeping);
  case Mixer::mamba:
    return kept_by_mamba(s, keeping);
  case Mixer::delta:
    return kept_by_delta(s, keeping);
  }
  return {};
}

// Bytes of what goes into the activation, and of what comes out, which a product alone needs; with
// a gate of its own kernel also of what the activation makes for it.
double kept_by_ffn(const MemorySetting& s, double inner, bool result)
{
  const double gated = s.separate_gate ? 3.0 : 2.0;
  return inner * ((s.model.gated ? gated : 1.0) * s.activation_input() +
                  (result ? s.product_input() : 0.0));
}

// What a layer's feed-forward part keeps: adds to what its mixer does, and returns bytes of the
// tokens that go to experts.
double keep_ffn(const MemorySetting& s, const Keeping& keeping, FeedForward feed, double tokens,
                Kept& kept)
{
  const Transformer& t = s.model;
  const bool result = keeping.needs_input(AdapterTarget::linear_fc2);
  if (feed == FeedForward::none)
    return 0;
  if (t.block != Block::parallel_one_norm)
    kept.outside += kept_by_norm(s, keeping, keeping.needs_input(AdapterTarget::linear_fc1));
  if (t.block == Block::parallel) // what goes into both norms is kept once
    kept.outside -= s.element * t.hidden;
  if (feed == FeedForward::dense) {
    if (!keeping.repeats(LayerModule::mlp))
      kept.inside +=
          kept_by_ffn(s, t.inner(), result) + keeping.mask(AdapterTarget::linear_fc2) * t.inner();
    kept.outside += keeping.mask(AdapterTarget::linear_fc1) * t.hidden;
    return 0;
  }
  if (!keeping.repeats(LayerModule::shared_experts))
    kept.inside += kept_by_ffn(s, static_cast<double>(t.shared_experts) * t.expert_inner(), result);
  if (keeping.repeats(LayerModule::moe))
    return 0;
  // Routed tokens are kept as products take them and as they leave; experts share the whole
  // group's.
  kept.outside += s.element * 2.0 * t.experts;
  if (t.expert_hidden) // what comes back is made wide again
    kept.outside += s.product_input() * *t.expert_hidden;
  const double inner =
      kept_by_ffn(s, t.expert_inner(), result && !keeping.repeats(LayerModule::moe_act));
  const double share = s.plan.sequence_parallel || s.plan.tensor == 1
                           ? static_cast<double>(s.plan.expert_tensor) / s.plan.tensor
                           : 1.0;
  return share * tokens * t.top_k * s.expert_load *
         ((s.product_input() + s.element) * t.routed_hidden() + inner / s.plan.expert_tensor);
}

// Whether selective recomputation goes by the framework's rule, and it is this one.
bool follows(const MemorySetting& s, SelectiveRecompute rule)
{
  return s.recompute == Recompute::selective && s.modules.empty() && s.selective == rule;
}

// Where attention and every second product are kept (torchtitan, _save_list): q, v, the attention,
// gate or up, and the result of a gated layer's down. Products of experts, which are grouped, are
// not.
Kept kept_by_operations(const MemorySetting& s, const LayerParts& parts)
{
  const Transformer& t = s.model;
  const double value =
      t.latent && t.latent->value_size > 0 ? t.latent->value_size : static_cast<double>(t.head());
  const bool experts = parts.has_experts();
  Kept kept;
  kept.outside = s.element * t.hidden;
  if (parts.mixer == Mixer::attention)
    kept.inside = (static_cast<double>(t.heads) + t.kv()) * t.head() + t.heads * value;
  else if (parts.mixer == Mixer::mamba)
    kept.inside = t.mamba->projected() + t.mamba->inner();
  else if (parts.mixer == Mixer::delta)
    kept.inside = t.delta->projected() + t.delta->values();
  if (experts)
    kept.inside += static_cast<double>(t.shared_experts) * t.expert_inner();
  else if (parts.feed == FeedForward::dense)
    kept.inside += static_cast<double>(t.inner());
  kept.inside *= s.element;
  if (t.gated && (experts ? t.shared_experts > 0 : parts.feed == FeedForward::dense))
    kept.outside += s.element * t.hidden;
  return kept;
}

} // namespace

int MemorySetting::weight_shards() const
{
  const int replicas = batch.data * plan.context;
  return plan.shard == ZeroShard::all ? replicas : std::clamp(per_node / plan.tensor, 1, replicas);
}

double MemorySetting::share_of(const PieceParameters& parameters) const
{
  const double replicas = static_cast<double>(batch.data) * plan.context;
  const double of_experts =
      std::max(1.0, replicas * plan.tensor / (plan.expert * plan.expert_tensor));
  const double group = weight_shards();
  return parameters.shared / std::max(1.0, group) +
         parameters.experts / std::max(1.0, group * of_experts / replicas);
}

Bytes layer_activations(const MemorySetting& s, const LayerParts& parts)
{
  const Transformer& t = s.model;
  if (parts.wide || (parts.kept && s.recompute == Recompute::full)) {
    MemorySetting treated = s;
    if (parts.wide)
      treated.operand = s.element;
    if (parts.kept)
      treated.recompute = Recompute::none;
    LayerParts plain = parts;
    plain.wide = plain.kept = false; // it is told what they mean
    return layer_activations(treated, plain);
  }
  if (follows(s, SelectiveRecompute::half)) {
    MemorySetting kept = s;
    kept.recompute = Recompute::none;
    MemorySetting repeated = s;
    repeated.recompute = Recompute::full;
    return 0.5 * (layer_activations(kept, parts) + layer_activations(repeated, parts));
  }
  const double tokens = s.batch.most_tokens() / s.plan.context;
  const double tensor = s.plan.tensor;
  const double replicated = s.plan.sequence_parallel ? tensor : 1.0;
  if (s.recompute == Recompute::full)
    return Bytes(tokens * t.hidden * s.element / replicated);
  if (follows(s, SelectiveRecompute::operations)) {
    const Kept kept = kept_by_operations(s, parts);
    return Bytes(tokens * (kept.outside / replicated + kept.inside / tensor));
  }
  const Keeping keeping(s);
  Kept kept = kept_by_mixer(s, keeping, parts.mixer);
  const double routed = keep_ffn(s, keeping, parts.feed, tokens, kept);
  if (t.drops() && parts.feed != FeedForward::none)
    kept.outside += t.hidden; // a mask
  const double pairs = tokens * s.batch.attended() * t.heads / tensor;
  return Bytes(tokens * (kept.outside / replicated + kept.inside / tensor) + kept.scores * pairs +
               routed);
}

namespace {

// What layers of each kind keep of a micro-batch.
class LayerBytes {
public:
  explicit LayerBytes(const MemorySetting& setting) : s_(setting) {}

  double of(const LayerParts& parts)
  {
    for (const auto& [known, bytes] : known_)
      if (known == parts)
        return bytes;
    known_.emplace_back(parts, layer_activations(s_, parts).value());
    return known_.back().second;
  }

private:
  const MemorySetting& s_;
  std::vector<std::pair<LayerParts, double>> known_;
};

// While a layer is repeated, what it keeps is there once more.
class RepeatedLayers {
public:
  explicit RepeatedLayers(const MemorySetting& setting)
      : whole_(setting.recompute == Recompute::full || follows(setting, SelectiveRecompute::half)),
        any_(whole_ || !setting.modules.empty() ||
             follows(setting, SelectiveRecompute::operations)),
        all_(without_recompute(setting)), bytes_(all_)
  {
  }

  /// Of a layer that keeps so many bytes while it waits.
  double of(const LayerParts& parts, double kept)
  {
    if (!any_ || parts.kept)
      return 0;
    return bytes_.of(parts) - (whole_ ? 0 : kept);
  }

private:
  static MemorySetting without_recompute(MemorySetting s)
  {
    s.recompute = Recompute::none;
    return s;
  }

  bool whole_, any_;
  MemorySetting all_;
  LayerBytes bytes_;
};

// All keys and values of a layer, where they are gathered before attention.
double gathered_keys(const MemorySetting& s, double tokens)
{
  const Transformer& t = s.model;
  const double heads =
      std::max(1.0, static_cast<double>(t.latent ? t.heads : t.kv()) / s.plan.tensor);
  return tokens * s.plan.context * 2 * heads * t.head() * s.element;
}

// Of the optimizer's state, with the gradients and weights that pass between both.
Bytes state_in_host(const MemorySetting& s, const PieceParameters& trained)
{
  const double own = s.plan.zero > 0 ? s.share_of(trained) : trained.total();
  return Bytes(s.state.offload * own * (s.state.optimizer + 4 + s.state.weight));
}

// At the most, of a logit: as its product made it and in single precision; or as it is, with its
// gradient beside it (flash_attn, losses/cross_entropy.py) or written over it (Transformer Engine,
// pytorch/cross_entropy.py).
double logit_bytes(const MemorySetting& s)
{
  switch (s.loss) {
  case LossRule::flash:
    return 2 * s.element;
  case LossRule::in_place:
    return s.element;
  default:
    return 4 + s.element;
  }
}

} // namespace

namespace {

// Of embedding and output, on a tensor-parallel rank.
double table_parameters(const Piece& piece, const Transformer& t, const ParallelPlan& plan)
{
  const int tables = (piece.embedding ? 1 : 0) +
                     (piece.output && t.has_logits() && !shares_table(piece, t, plan) ? 1 : 0);
  return tables * static_cast<double>(t.vocabulary) * t.hidden / plan.tensor;
}

} // namespace

double held_micro_batches(const ParallelPlan& plan, int micro_batches, int stage)
{
  const int pieces = plan.virtual_stages;
  if (plan.schedule == PipelineSchedule::gpipe)
    return static_cast<double>(micro_batches) * pieces;
  // As many as 1F1B's first stage has, or one piece's more (v_schedules.hpp).
  if (returns(plan.schedule))
    return std::min(2 * plan.pipeline + (plan.schedule == PipelineSchedule::dualpipe_v ? 1 : 0),
                    micro_batches * pieces);
  // Those of a later stage wait longer for the gradients of their weights (ZB-H1, pipeline.cpp).
  if (plan.schedule == PipelineSchedule::zero_bubble)
    return std::min(plan.pipeline, micro_batches);
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
  const auto pieces = pieces_of(t, plan, s.treatments);
  const double tokens = s.batch.most_tokens() / plan.context;
  LayerBytes bytes(s);
  RepeatedLayers again(s);
  std::vector<StageMemory> stages(static_cast<std::size_t>(plan.pipeline));
  for (int stage = 0; stage < plan.pipeline; ++stage) {
    StageMemory& m = stages[static_cast<std::size_t>(stage)];
    double kept = 0;        // of a micro-batch by the stage's pieces
    double away = 0;        // and in host memory
    double passing = 0;     // of the largest layer on its way there
    double repeated = 0;    // of the largest one while it is made anew
    double most_layers = 0; // parameters of the largest layer
    double tables = 0;      // parameters of embedding and output, which no adapter freezes in fp8
    PieceParameters held, trained;
    double other = kContext;
    for (const std::size_t p : plan.pieces_on(stage)) {
      const Piece& piece = pieces[p];
      const PieceParameters own = parameters_of(piece, t, plan);
      held += own;
      trained += trained_of(piece, t, plan, s.adapters);
      for (const LayerRun& run : piece.runs) {
        const double one = bytes.of(run.parts);
        (run.parts.away ? away : kept) += run.count * one;
        passing = std::max(passing, run.parts.away ? one : 0.0);
        repeated = std::max(repeated, again.of(run.parts, one));
      }
      if (piece.predictions > 0) {
        const double one = bytes.of(t.prediction_parts());
        kept += piece.predictions * one;
        repeated = std::max(repeated, again.of(t.prediction_parts(), one));
      }
      most_layers = std::max(most_layers, own.total() / std::max(1, piece.layers()));
      tables += table_parameters(piece, t, plan);
      // Logits and what the loss needs of them; embedding's dropout.
      if (piece.output)
        other += (1 + piece.predictions) * tokens * t.predicted *
                 (static_cast<double>(t.vocabulary) / plan.tensor * logit_bytes(s) +
                  2 * s.element * t.hidden);
      if (piece.embedding && t.drops())
        other += tokens * t.hidden;
    }
    if (plan.context > 1 && plan.context_exchange == ContextExchange::all_gather)
      other += gathered_keys(s, tokens);
    const auto divided = [&](int from_stage, const PieceParameters& of, double each) {
      const int zero = s.keeps_weights() ? 1 : plan.zero;
      return each * (zero >= from_stage ? s.share_of(of) : of.total());
    };
    m.weights = Bytes(divided(3, held, s.weight()));
    if (s.adapters)
      m.weights -= Bytes((s.state.weight - s.state.frozen) * std::max(0.0, held.total() - tables) /
                         (s.gathers() ? s.weight_shards() : 1));
    m.gradients = Bytes(divided(2, trained, s.state.gradient));
    m.optimizer = Bytes((1 - s.state.offload) * divided(1, trained, s.state.optimizer));
    if (!s.adapters)
      m.optimizer += Bytes((1 - s.state.offload) * divided(1, {tables, 0}, s.state.table_more));
    // With zero 3 two layers are there as a whole, with the gradients of one, as with zero 2.
    if (s.gathers())
      other += most_layers * (2 * s.element + s.state.gradient) +
               (s.state.root ? tables * s.element : 0.0);
    if (plan.zero == 2 && !s.keeps_weights() && s.batch.data > 1)
      other += most_layers * s.state.gradient;
    const double micro =
        held_micro_batches(plan, s.batch.micro_batches, stage) / plan.virtual_stages;
    // One layer is copied while the next one is filled.
    m.activations = Bytes(kept * micro + 2 * passing + repeated);
    m.in_host = Bytes(away * micro) + state_in_host(s, trained);
    const double step = (1 - s.state.offload) * divided(1, trained, s.state.step);
    m.other = Bytes(std::max(other, kContext + step - m.activations.value()));
  }
  return stages;
}

Bytes checkpoint_bytes(const MemorySetting& s)
{
  const ParallelPlan whole;
  double trained = 0;
  double tables = 0;
  for (const Piece& piece : pieces_of(s.model, whole)) {
    trained += trained_of(piece, s.model, whole, s.adapters).total();
    tables += s.adapters ? 0 : table_parameters(piece, s.model, whole);
  }
  return Bytes(trained * (s.weight() + s.state.optimizer) + tables * s.state.table_more);
}

std::pair<int, StageMemory> fullest_stage(const MemorySetting& setting)
{
  const auto stages = stage_memory(setting);
  const auto most = std::max_element(
      stages.begin(), stages.end(),
      [](const StageMemory& x, const StageMemory& y) { return x.total() < y.total(); });
  return {static_cast<int>(most - stages.begin()), *most};
}

Bytes fullest_host(const MemorySetting& setting)
{
  if (setting.state.offload <= 0 && setting.treatments.away == 0)
    return Bytes(0);
  Bytes most;
  for (const StageMemory& stage : stage_memory(setting))
    most = std::max(most, stage.in_host);
  return most;
}

std::vector<MemoryPart> memory_parts(const StageMemory& memory)
{
  return {{"weights", memory.weights},
          {"gradients", memory.gradients},
          {"optimizer", memory.optimizer},
          {"activations", memory.activations},
          {"other", memory.other}};
}

} // namespace foretrain::models
