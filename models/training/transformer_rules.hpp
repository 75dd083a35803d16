// What a framework does around a transformer's kernels.
#pragma once

#include "sim/base/schema.hpp"

#include <string>

namespace foretrain::models {

/// What gradients are added up in, or travel in.
enum class GradientPrecision { fp32, compute };
constexpr auto choices(GradientPrecision)
{
  return std::to_array<Choice<GradientPrecision>>(
      {{GradientPrecision::fp32, "fp32"}, {GradientPrecision::compute, "compute"}});
}

/// What adds a micro-batch's gradient of a weight to those before: the product that makes it, or
/// kernels of their own, behind a cast where sums have another precision.
enum class GradientSum { product, kernels };
constexpr auto choices(GradientSum)
{
  return std::to_array<Choice<GradientSum>>(
      {{GradientSum::product, "product"}, {GradientSum::kernels, "kernels"}});
}

/// What selective recomputation repeats: attention's core, unless a fused kernel does it by itself,
/// or even then; every second layer; or of each layer all but attention and every second product.
enum class SelectiveRecompute { attention, core, half, operations };
constexpr auto choices(SelectiveRecompute)
{
  return std::to_array<Choice<SelectiveRecompute>>(
      {{SelectiveRecompute::attention, "attention"},
       {SelectiveRecompute::core, "core"},
       {SelectiveRecompute::half, "half"},
       {SelectiveRecompute::operations, "operations"}});
}

/// Kernels of the cross entropy; automatic: as Framework::fused_elementwise says. FlashAttention's
/// and those that write the gradient in place (Transformer Engine, Liger) are fused ones that make
/// no copy of the logits in single precision.
enum class LossRule { automatic, fused, pytorch, megatron, flash, in_place };
constexpr auto choices(LossRule)
{
  return std::to_array<Choice<LossRule>>({{LossRule::automatic, "automatic"},
                                          {LossRule::fused, "fused"},
                                          {LossRule::pytorch, "pytorch"},
                                          {LossRule::megatron, "megatron"},
                                          {LossRule::flash, "flash"},
                                          {LossRule::in_place, "in-place"}});
}

/// What fp8 products leave in fp8 for the backward pass: nothing; what goes into them; and what
/// goes into the activation function, too.
enum class Fp8Kept { nothing, inputs, activation };
constexpr auto choices(Fp8Kept)
{
  return std::to_array<Choice<Fp8Kept>>({{Fp8Kept::nothing, "nothing"},
                                         {Fp8Kept::inputs, "inputs"},
                                         {Fp8Kept::activation, "activation"}});
}

/// The optimizer's copy of bf16 weights: in single precision, or the 16 bits of it that they lack;
/// or weights are in single precision themselves, and what is gathered of them in 16 bits.
enum class MasterWeights { fp32, remainder, weights };
constexpr auto choices(MasterWeights)
{
  return std::to_array<Choice<MasterWeights>>({{MasterWeights::fp32, "fp32"},
                                               {MasterWeights::remainder, "remainder"},
                                               {MasterWeights::weights, "weights"}});
}

/// Scales of fp8 operands: one for a tensor, from values of earlier steps (delayed) or its own
/// (current); one for each row or column; or one for each 128 values of activations and 128 x 128
/// of weights.
enum class Fp8Scaling { delayed, current, row, block };
constexpr auto choices(Fp8Scaling)
{
  return std::to_array<Choice<Fp8Scaling>>({{Fp8Scaling::delayed, "delayed"},
                                            {Fp8Scaling::current, "current"},
                                            {Fp8Scaling::row, "row"},
                                            {Fp8Scaling::block, "block"}});
}

/// Kernel of attention: that of the GPU's tables, FlashAttention-2 or -1, or FlashAttention in
/// Triton.
enum class AttentionKernel { measured, flash_2, flash_1, triton };
constexpr auto choices(AttentionKernel)
{
  return std::to_array<Choice<AttentionKernel>>({{AttentionKernel::measured, "measured"},
                                                 {AttentionKernel::flash_2, "flash-2"},
                                                 {AttentionKernel::flash_1, "flash-1"},
                                                 {AttentionKernel::triton, "triton"}});
}

/// How tokens go to their experts: a copy for each expert; all of a group's to all; or by a library
/// that sends one copy to each node that has one of their experts (DeepEP, HybridEP), or on one
/// node to each GPU.
enum class Dispatcher { all_to_all, all_gather, deep_ep, hybrid_ep };
constexpr auto choices(Dispatcher)
{
  return std::to_array<Choice<Dispatcher>>({{Dispatcher::all_to_all, "all-to-all"},
                                            {Dispatcher::all_gather, "all-gather"},
                                            {Dispatcher::deep_ep, "deep-ep"},
                                            {Dispatcher::hybrid_ep, "hybrid-ep"}});
}

/// What is launched as a graph: nothing; what has the same shapes in each step, all of a layer but
/// its experts; or everything.
enum class CudaGraphs { none, layer, all };
constexpr auto choices(CudaGraphs)
{
  return std::to_array<Choice<CudaGraphs>>(
      {{CudaGraphs::none, "none"}, {CudaGraphs::layer, "layer"}, {CudaGraphs::all, "all"}});
}

/// How layers come to the stages of a pipeline: as many to each, or as much of the weights of their
/// products, those of the logits among them.
enum class StageCut { even, weights };
constexpr auto choices(StageCut)
{
  return std::to_array<Choice<StageCut>>(
      {{StageCut::even, "even"}, {StageCut::weights, "weights"}});
}

struct TransformerRules {
  // Beside Framework::fused_elementwise, that makes element-wise chains one kernel each:
  bool fused_activation = true;   // a gate and the activation of a feed-forward part
  bool fused_rotary = true;       // rotations
  bool fused_rotary_scale = true; // also where what is rotated is scaled (YaRN)
  bool fused_experts = true;      // also biases and clamps of experts
  bool op_fuser = false;          // casts behind activations, and what adapters add (see describe)
  bool joined_projections = true; // q, k and v are one product, gate and up another
  bool copied_heads = false;      // attention's operands are brought together before its kernel
  Seconds host_per_micro_batch{}; // in which the device waits; 0: the host runs ahead
  Seconds host_per_exchange{};    // to start a collective between tensor-parallel ranks
  AttentionKernel attention = AttentionKernel::measured;
  // Products of chunks in Mamba's scan, beside a library's of their shapes: mamba_ssm's kernels in
  // Triton (docs/calibration-data.md).
  double scan_efficiency = 0.22;
  SelectiveRecompute selective =
      SelectiveRecompute::attention;   // what "recompute": "selective" repeats
  LossRule loss = LossRule::automatic; // kernels of the cross entropy
  Fp8Kept fp8_kept = Fp8Kept::nothing; // for the backward pass
  Fp8Scaling fp8_scaling = Fp8Scaling::delayed;
  MasterWeights master = MasterWeights::fp32;
  GradientPrecision gradient = GradientPrecision::fp32; // what gradients are added up in
  GradientPrecision reduce = GradientPrecision::fp32;   // what of them travels
  GradientSum gradient_sum = GradientSum::product;      // what adds them up
  bool joined_gradients = false;     // the step copies them into one tensor first
  bool all_reduce_gradients = false; // zero 1: whole, though only a share of them is needed
  bool bf16_optimizer = false;       // DeepSpeed's, for weights in bf16 (in_effect)
  int optimizer_kernels = 0;         // per parameter tensor; 0: all tensors in few kernels
  Seconds host_per_shard{}; // of a parameter tensor, copied by itself once its shards are gathered
  double optimizer_bytes = 38; // moved per parameter: Adam with masters, norm and clearing
  // Moved in host memory per parameter whose optimizer runs there; default: the eight passes of
  // _single_tensor_adamw (torch/optim/adamw.py), each over tensors larger than a cache.
  double host_optimizer_bytes = 80;
  StageCut stages = StageCut::even;     // where the job does not tell them
  bool overlap_gradients = true;        // they travel during the last backward pass
  bool stages_overlap_gradients = true; // in a pipeline, too
  bool overlap_parameters = true;       // shared-out ones travel during the first forward pass
  bool overlap_tensor = false;          // tensor-parallel exchanges ride beside their products
  bool overlap_pipeline = false;        // stages do not wait for their transfers
  bool overlap_expert = false;          // exchanges of experts ride beside other work
  Dispatcher dispatcher = Dispatcher::all_to_all; // how tokens go to their experts
  bool dropless = true;                           // no token is left out
  // Of a GPU that waits for the host in each layer of experts: dropless, for the numbers of tokens,
  // and for what is launched for each expert that it holds.
  Seconds host_per_routing{};
  Seconds host_per_expert{};
  CudaGraphs cuda_graphs = CudaGraphs::none; // what is launched as a graph
  bool launch_blocking = false;              // each launch waits until its kernel is done
  double overlap_cost = 0.12;          // of compute that runs beside exchanges: more time by this
  int micro_batch_gathers = 1;         // zero 3: 1: gathers and reduces for each micro-batch
  bool reshard_after_backward = false; // zero 2: gathers for each micro-batch
  bool stages_keep_weights = false;    // zero 2, 3 in a pipeline: gathers and reduces once a step
  double gather_bytes = 0;             // zero 3: moved on the device per parameter that is gathered
  double reduce_bytes = 0;             // zero 3: and per parameter whose gradient is reduced
};

/// Rules as they take effect, with weights that are not fp16 up to zero 1 (`bf16`) or others: where
/// each launch waits for its kernel, nothing runs beside another; DeepSpeed's BF16_Optimizer adds
/// up gradients in single precision, in kernels of their own, and all-reduces all of them.
inline TransformerRules in_effect(TransformerRules rules, bool bf16)
{
  if (rules.bf16_optimizer && bf16) {
    rules.gradient = rules.reduce = GradientPrecision::fp32;
    rules.gradient_sum = GradientSum::kernels;
    rules.all_reduce_gradients = true;
  }
  if (rules.launch_blocking)
    rules.overlap_gradients = rules.overlap_parameters = rules.overlap_tensor =
        rules.overlap_pipeline = rules.overlap_expert = false;
  return rules;
}

/// What of a step's exchanges runs beside its kernels.
template <class V>
void describe_overlaps(V& v, TransformerRules& s)
{
  v.optional(
      "overlap_gradients", s.overlap_gradients,
      "gradients travel during the last backward pass; with zero 3 launch_blocking alone decides");
  v.optional("stages_overlap_gradients", s.stages_overlap_gradients,
             "with overlap_gradients: in a pipeline too; else after its last backward pass");
  v.optional("overlap_parameters", s.overlap_parameters,
             "parameters that are shared out travel during the first forward pass; with zero 3 "
             "launch_blocking alone decides");
  v.optional("overlap_tensor", s.overlap_tensor,
             "tensor-parallel exchanges ride beside their products");
  v.optional("overlap_pipeline", s.overlap_pipeline, "stages do not wait for their transfers");
  v.optional("overlap_expert", s.overlap_expert, "exchanges of experts ride beside other work");
}

/// How tokens go to their experts, and what a GPU waits for meanwhile.
template <class V>
void describe_experts(V& v, TransformerRules& s)
{
  v.optional("dispatcher", s.dispatcher,
             "how tokens go to their experts: a copy for each of them (all-to-all), all of a "
             "group's to all (all-gather), or one copy to each node that has one of their experts, "
             "on one node to each GPU (deep-ep, hybrid-ep)");
  v.optional("dropless", s.dropless,
             "no token is left out, so that the host waits until it knows how many came");
  v.optional(
      "host_per_routing", s.host_per_routing,
      "dropless: time in which a GPU waits in each layer of experts for the host, which waits "
      "for the numbers of tokens; not with CUDA graphs or overlap_expert",
      non_negative());
  v.optional("host_per_expert", s.host_per_expert,
             "and for each expert that the GPU holds, whose work the host launches by itself; not "
             "with CUDA graphs of everything",
             non_negative());
  v.optional("cuda_graphs", s.cuda_graphs,
             "what is launched as a CUDA graph: nothing, what has the same shapes in each step "
             "(layer: all but experts), or everything (all)");
}

template <class V>
void describe_optimizer(V& v, TransformerRules& s)
{
  v.optional("optimizer_kernels", s.optimizer_kernels,
             "of the optimizer per parameter tensor; 0: all tensors in a few kernels",
             between(0, 1000));
  v.optional(
      "host_per_shard", s.host_per_shard,
      "zero 1 and more: host time for each parameter tensor and each GPU that its optimizer "
      "is shared out to, where shards are sliced and copied one by one, behind the optimizer",
      non_negative());
  v.optional("optimizer_bytes", s.optimizer_bytes,
             "moved per parameter by the optimizer, the gradients' norm and clearing",
             non_negative());
  v.optional("host_optimizer_bytes", s.host_optimizer_bytes,
             "moved in host memory per parameter whose optimizer runs there (offload)",
             non_negative());
}

/// How gradients are added up, of micro-batches and of data-parallel ranks.
template <class V>
void describe_gradients(V& v, TransformerRules& s)
{
  v.optional("gradient", s.gradient, "precision in which gradients are added up");
  v.optional("reduce", s.reduce, "precision in which they travel");
  v.optional("gradient_sum", s.gradient_sum,
             "what adds a micro-batch's gradients to those before: the products that make them, or "
             "kernels of their own, behind a cast where they are added up in another precision");
  v.optional(
      "joined_gradients", s.joined_gradients,
      "masters in fp32 with gradients in 16 bits: the optimizer's step copies these into one "
      "tensor before it copies them to fp32 (DeepSpeed)");
  v.optional("all_reduce_gradients", s.all_reduce_gradients,
             "zero 1: gradients are all-reduced whole, not scattered to the optimizer's shards");
  v.optional("bf16_optimizer", s.bf16_optimizer,
             "weights that are not fp16, up to zero 1: gradients are cast, added up in fp32 and "
             "all-reduced in it, whatever the keys before say (DeepSpeed's BF16_Optimizer)");
}

template <class V>
void describe_shards(V& v, TransformerRules& s)
{
  v.optional("micro_batch_gathers", s.micro_batch_gathers,
             "zero 3: 1: weights are gathered for each micro-batch; 0: once a step", between(0, 1));
  v.optional(
      "reshard_after_backward", s.reshard_after_backward,
      "zero 2: weights are shared out again behind each backward pass and gathered in the "
      "forward pass of each micro-batch (FSDP); else once a step, behind the optimizer. zero "
      "3: what is gathered outside the layers stays from pass to pass (FSDP's root)");
  v.optional(
      "stages_keep_weights", s.stages_keep_weights,
      "zero 2 and 3 in a pipeline: a stage gathers its weights beside its first forward pass and "
      "keeps them, adds up whole gradients, and shares these out behind its last backward "
      "pass");
  v.optional("gather_bytes", s.gather_bytes,
             "zero 3: bytes read and written on the device per parameter that is gathered, where "
             "weights are copied out of the exchange's buffer",
             between(0, 100));
  v.optional("reduce_bytes", s.reduce_bytes,
             "zero 3: bytes read and written on the device per parameter before its gradient is "
             "reduced: copies into the exchange's buffer, and casts",
             between(0, 100));
}

template <class V>
void describe(V& v, TransformerRules& s)
{
  v.optional("fused_activation", s.fused_activation,
             "where element-wise work is fused, so are a gate and its activation; else they run in "
             "steps, and what the activation makes is kept for the backward pass");
  v.optional("fused_rotary", s.fused_rotary,
             "where element-wise work is fused, so are rotations; else they run in steps (products "
             "of complex numbers, which PyTorch's compiler leaves to its library)");
  v.optional("fused_rotary_scale", s.fused_rotary_scale,
             "where element-wise work is fused, so are rotations that scale (rotary_scaled); else "
             "they run in steps");
  v.optional("fused_experts", s.fused_experts,
             "biases and clamps of experts are part of kernels beside them; else each has kernels "
             "of its own");
  v.optional(
      "op_fuser", s.op_fuser,
      "Transformer Engine's operation fuser: an activation writes what the product behind it "
      "takes, in fp8 with scales that need no maximum first, as does its gradient; adapters "
      "scale and add up in their products where no tensor-parallel ranks share these");
  v.optional("joined_projections", s.joined_projections,
             "queries, keys and values are made by one product, gate and up by another; else each "
             "by its own, and gradients of their input are added up");
  v.optional("copied_heads", s.copied_heads,
             "queries, keys and values are copied out of the product that makes them, and keys and "
             "values once more beside each other, before attention's kernel; gradients back");
  for (const char* key : {"host_per_kernel", "host_per_layer"})
    v.removed(key, "'launches' of the framework");
  v.removed("fused", "'fused_elementwise' of the framework");
  v.optional("host_per_micro_batch", s.host_per_micro_batch,
             "host time of a micro-batch in which the device waits (data, loss, timers that wait "
             "for the device); 0: the host runs ahead from pass to pass",
             non_negative());
  v.optional("host_per_exchange", s.host_per_exchange,
             "host time to start a collective between tensor-parallel ranks", non_negative());
  v.optional("attention", s.attention,
             "kernel: the one that was measured, FlashAttention-2 or -1, or FlashAttention in "
             "Triton");
  v.optional("scan_efficiency", s.scan_efficiency,
             "rate of the products of chunks in a scan (Mamba) beside a library's of their shapes",
             between(0.01, 1));
  v.optional(
      "selective", s.selective,
      "what selective recomputation repeats: the attention's core unless it is flash attention "
      "(attention: Megatron-LM until 2023), flash attention too (core: Megatron-Core), every "
      "second layer (half), or of each layer all but attention and every second product "
      "(operations)");
  v.optional("loss", s.loss,
             "kernels of the cross entropy: fused ones, PyTorch's, those of Megatron's "
             "vocab_parallel_cross_entropy, or the first two as fused_elementwise says; fused ones "
             "that keep "
             "logits as they are, with a gradient beside (flash) or in their place (in-place)");
  v.optional("fp8_scaling", s.fp8_scaling,
             "scales of operands in fp8: of a tensor, from earlier steps (delayed) or its own "
             "values (current), of each row and column (row), or of blocks of 128");
  v.optional("fp8_kept", s.fp8_kept,
             "what is left in fp8 for the backward pass where products are fp8: nothing, what goes "
             "into products (inputs), and what goes into the activation function (activation)");
  v.optional("master", s.master,
             "the optimizer's copy of bf16 weights: in fp32, or the 16 bits of it that they lack "
             "(remainder); or with zero 3 the shards themselves, gathered in 16 bits (weights)");
  describe_gradients(v, s);
  v.optional("stages", s.stages,
             "layers of a pipeline's stages: as many on each (even), or as much of the weights of "
             "products, with those of the logits (weights)");
  describe_optimizer(v, s);
  describe_overlaps(v, s);
  describe_experts(v, s);
  v.optional("launch_blocking", s.launch_blocking,
             "each launch waits until its kernel is done (CUDA_LAUNCH_BLOCKING=1): host and device "
             "take turns, and no exchange rides beside a product, whatever overlap_* say");
  v.optional("overlap_cost", s.overlap_cost,
             "by this share of the time of an exchange beside it, compute takes longer",
             between(0, 2));
  describe_shards(v, s);
}

} // namespace foretrain::models
