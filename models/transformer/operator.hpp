// The operators that one GPU runs for a layer of a transformer, with their shapes and traffic,
// under a parallel plan's cuts (Megatron-LM: arXiv:1909.08053, sequence parallelism
// arXiv:2205.05198).
#pragma once

#include "models/training/autocast.hpp"
#include "models/training/composed_operations.hpp"
#include "models/transformer/adapters.hpp"
#include "models/transformer/layer_module.hpp"
#include "models/transformer/spec.hpp"
#include "sim/base/units.hpp"
#include "sim/cost/products.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::models {

/// How logits become a loss: how often they pass through memory.
enum class LossKernels { fused, pytorch, megatron };

/// What it takes to make operands of fewer bits, as products want them in both passes.
struct Conversion {
  double bytes = 0; // read and written of an element
  int kernels = 0;
  double weight_bytes = 0; // of a weight in each pass; 0: it is converted once a step
};

/// Which part of a job one GPU does of each layer and micro-batch.
struct OperatorShape {
  double micro_batch = 1; // sequences
  double sequence = 2048; // tokens of each
  int tensor = 1;
  int context = 1;
  int context_heads = 1;         // of context-parallel ranks, those that share heads
  bool context_gathered = false; // keys and values of the others are there before attention
  int expert = 1;
  int expert_tensor = 1; // cuts of each expert
  bool sequence_parallel = false;
  bool flash = true; // attention as one kernel; else scores pass through memory
  Composition composed = Composition::none; // of which the framework's kernels are made
  Autocast autocast = Autocast::none;
  bool fused = true;              // element-wise chains are one kernel each
  bool fused_activation = true;   // also a gate and its activation
  bool fused_rotary = true;       // also rotations
  bool fused_rotary_scale = true; // also where what is rotated is scaled
  bool fused_experts = true;      // also biases and clamps of grouped experts
  bool op_fuser = false;          // also casts behind activations, and what adapters add
  bool joined = true;             // q, k and v are one product, gate and up another
  bool copied_heads = false;      // q, k and v are brought together before attention's kernel
  LossKernels loss = LossKernels::fused;
  double element = 2;         // bytes of activations and weights
  double operand = 2;         // and of what products with weights take, with its scales
  Conversion conversion;      // between the two
  double accumulate = 4;      // bytes of the buffers that gradients are added to; 0: written only
  bool separate_sums = false; // gradients of weights are added up in kernels of their own
  double scan = 1;            // efficiency of Mamba's products of chunks beside the library's
  double skew = 1;            // load of the fullest GPU's experts beside the mean
  std::optional<Adapters> adapters; // they are trained, all other weights are frozen

  /// Parts that a sequence's attention is cut into.
  int context_parts() const { return context / context_heads; }

  /// Tokens of the micro-batch on one GPU outside the tensor-parallel parts.
  double tokens() const { return micro_batch * sequence / context; }
  double own_tokens() const { return sequence_parallel ? tokens() / tensor : tokens(); }
  /// Bytes read and written of a weight whose gradient is added up: sum and sum by the product
  /// itself; gradient, sum and sum by a kernel of its own, behind a cast of the gradient where the
  /// sum is wider (DeepSpeed, bf16_optimizer.py, update_hp_grads).
  double summed() const
  {
    if (!separate_sums)
      return 2 * accumulate;
    return (accumulate > element ? element + accumulate : 0) + 3 * accumulate;
  }
  /// Ranks with tokens of their own among those that share an expert: without sequence parallelism
  /// all tensor-parallel ranks hold the same.
  double expert_sharers() const { return sequence_parallel || tensor == 1 ? expert_tensor : 1; }
};

enum class OperatorKind { product, attention, memory };

/// What tensor-parallel ranks exchange beside a product: what goes in, or what comes out.
enum class TensorEnd { none, in, out };

struct Operator {
  std::string name;
  OperatorKind kind = OperatorKind::memory;
  sim::Product product; // forward; backward has two of the same FLOP
  sim::AttentionShape attention;
  double forward_bytes = 0; // over device memory, beside products and attention
  double backward_bytes = 0;
  int forward_kernels = 1;
  int backward_kernels = 1;
  double functions = 0;  // exponentials evaluated beside that traffic; backward twice as many
  bool weights = false;  // the product's right side is a weight
  bool frozen = false;   // which is not trained: no gradient of it
  bool again = false;    // made anew in the backward pass, by the kernels themselves
  double efficiency = 1; // of the product's kernel beside the library's
  // Attention that takes turns with the one before it on two streams: what a kernel takes to begin
  // and to end passes beside the other's work.
  bool beside = false;
  double share = 1; // how often a layer has it, on average: less than once where layers take turns
  double repeated = 1;               // of it, where every second product of a layer is kept
  TensorEnd end = TensorEnd::none;   // of a product that tensor-parallel ranks share
  bool same_input = false;           // takes what the product before it takes
  bool adapted = false;              // an adapter takes what it takes, too
  std::optional<LayerModule> module; // that recomputation may repeat by itself
  Flops forward_flops() const;
};

} // namespace foretrain::models
