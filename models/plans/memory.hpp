// Device memory of each pipeline stage under a parallel plan.
#pragma once

#include "models/plans/stages.hpp"
#include "models/training/transformer_rules.hpp"
#include "models/training/work_plan.hpp"
#include "models/transformer/layer_module.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace foretrain::models {

enum class Recompute { none, selective, full };
constexpr auto choices(Recompute)
{
  return std::to_array<Choice<Recompute>>(
      {{Recompute::none, "none"}, {Recompute::selective, "selective"}, {Recompute::full, "full"}});
}

/// How a framework keeps what it trains.
struct StateBytes {
  double weight = 2;     // per parameter, of the copy that kernels read
  double frozen = 2;     // of layers' weights beside adapters
  double gradient = 4;   // of the buffer that gradients are added to
  double optimizer = 12; // master weights and both moments of Adam
  double step = 0;       // and what its step copies, when activations are gone
  double table_more = 0; // per parameter of embedding and logits, beside that
  bool masters = false;  // with zero 3 shards are the master weights; kernels read what is gathered
  bool root = false;     // and what is gathered of embedding and logits stays (PyTorch's FSDP)
  double offload = 0;    // share of the optimizer's state that lives in host memory
};

struct MemorySetting {
  Transformer model;
  ParallelPlan plan;
  PlannedBatch batch;
  Recompute recompute = Recompute::none;
  std::vector<LayerModule> modules; // that selective recomputation repeats; none: the framework's
  SelectiveRecompute selective = SelectiveRecompute::attention; // what that is
  LayerTreatments treatments;
  double expert_load = 1;           // of the fullest GPU's experts beside the mean
  double experts_take = 1;          // share of the tokens for experts; the others are left out
  std::optional<Adapters> adapters; // they alone are trained
  bool flash = true;
  double element = 2;                  // bytes of an activation
  double operand = 2;                  // and of what products take
  Fp8Kept fp8_kept = Fp8Kept::nothing; // where that is less
  bool separate_gate = false;          // what the activation makes is kept beside what it takes
  LossRule loss = LossRule::automatic;
  int per_node = 1;                 // GPUs of the job on one node, at most
  bool stages_keep_weights = false; // as the framework does
  StateBytes state;

  /// Whether weights and gradients that zero 2 and 3 share out are whole on a stage throughout a
  /// step (torchtitan: reshard_after_forward is off in a pipeline; PyTorch, distributed/
  /// pipelining/stage.py, backward_maybe_with_nosync).
  bool keeps_weights() const { return stages_keep_weights && plan.zero > 1 && plan.pipeline > 1; }
  /// Whether each layer's weights are gathered when they are needed.
  bool gathers() const { return plan.zero == 3 && !keeps_weights(); }
  /// Bytes per parameter of the copy that kernels read, beside what is gathered.
  double weight() const
  {
    return state.masters && gathers() && !adapters && element < 4 ? 0 : state.weight;
  }
  /// GPUs that zero divides weights, or optimizer state alone, among.
  int weight_shards() const;
  /// Of a stage's parameters what one of the GPUs that hold the same ones has where they are shared
  /// out: experts have fewer such GPUs.
  double share_of(const PieceParameters& parameters) const;

  /// Bytes of an element that a product alone needs for its backward pass. Adapters take theirs in
  /// the precision of activations.
  double product_input() const
  {
    return fp8_kept == Fp8Kept::nothing || adapters ? element : operand;
  }
  /// Of what goes into the activation function.
  double activation_input() const { return fp8_kept == Fp8Kept::activation ? operand : element; }
};

struct StageMemory {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;
  Bytes other;   // logits, gathered layers, buffers of exchanges, the device's context
  Bytes in_host; // not of the device: what is offloaded
  Bytes total() const { return weights + gradients + optimizer + activations + other; }
};

/// Bytes that one layer keeps of one micro-batch for the backward pass: Korthikanti et al.,
/// arXiv:2205.05198, equations 1 to 6 and table 2, told by the parts that they sum up, so that
/// grouped queries, gated layers and experts have their own. Dropout masks of a byte are kept by
/// models with biases (GPT, BERT). Mamba keeps what its product in makes, its result before the
/// norm and, as the product out takes it, behind; it makes the rest anew (mamba_ssm,
/// ssd_combined.py). A delta rule keeps what is convolved behind that, too, and the solutions of
/// its chunks (fla/ops/gated_delta_rule/chunk.py, save_for_backward).
Bytes layer_activations(const MemorySetting& setting, const LayerParts& parts);

/// Micro-batches of one piece that stage `stage` holds at the same time, at most, times pieces.
double held_micro_batches(const ParallelPlan& plan, int micro_batches, int stage);

/// Of every stage. What allocators lose between blocks is not in it.
std::vector<StageMemory> stage_memory(const MemorySetting& setting);

/// Of a checkpoint by all GPUs together: what is trained, once, as the weights that kernels read
/// and the optimizer's state; not what adapters leave frozen. (Mixed precision with Adam: 14 bytes
/// per parameter.)
Bytes checkpoint_bytes(const MemorySetting& setting);

/// The stage that needs the most, and what.
std::pair<int, StageMemory> fullest_stage(const MemorySetting& setting);

/// Host memory that the GPU with most of what is offloaded needs.
Bytes fullest_host(const MemorySetting& setting);

/// By name, for answers.
std::vector<MemoryPart> memory_parts(const StageMemory& memory);

} // namespace foretrain::models
