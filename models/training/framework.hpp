// What a training framework does around the kernels: fusion, overlap, coordination,
// synchronisation.
#pragma once

#include "models/input/input_settings.hpp"
#include "models/training/composed_operations.hpp"
#include "models/training/frequent_rows.hpp"
#include "models/training/host_launches.hpp"
#include "models/training/optimizer.hpp"
#include "models/training/plan_limits.hpp"
#include "models/training/table_plan.hpp"
#include "models/training/transformer_rules.hpp"
#include "sim/base/catalog.hpp"
#include "sim/base/schema.hpp"
#include "sim/cost/gpu_vendor.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace foretrain::models {

inline const PresetKind kFrameworkKind{"framework", "models/data/frameworks"};

/// Where parameter servers run.
enum class ServerPlace { workers, apart };
constexpr auto choices(ServerPlace)
{
  return std::to_array<Choice<ServerPlace>>(
      {{ServerPlace::workers, "workers"}, {ServerPlace::apart, "apart"}});
}

/// Who pushes and pulls: the GPUs of a node as one, or each GPU.
enum class ServerClient { node, gpu };
constexpr auto choices(ServerClient)
{
  return std::to_array<Choice<ServerClient>>(
      {{ServerClient::node, "node"}, {ServerClient::gpu, "gpu"}});
}

/// What goes to one server: whole tensors, partitions of bytes, or whole tensors but for large
/// ones, of which each server has a part.
enum class ServerShard { tensor, bytes, large };
constexpr auto choices(ServerShard)
{
  return std::to_array<Choice<ServerShard>>({{ServerShard::tensor, "tensor"},
                                             {ServerShard::bytes, "bytes"},
                                             {ServerShard::large, "large"}});
}

/// When workers pull: as soon as a piece is summed, or when all of a step are.
enum class ServerPull { piece, step };
constexpr auto choices(ServerPull)
{
  return std::to_array<Choice<ServerPull>>(
      {{ServerPull::piece, "piece"}, {ServerPull::step, "step"}});
}

/// In which order variables arrive that a step fetches.
enum class FetchOrder { any, forward };
constexpr auto choices(FetchOrder)
{
  return std::to_array<Choice<FetchOrder>>(
      {{FetchOrder::any, "any"}, {FetchOrder::forward, "forward"}});
}

/// How gradients are combined.
enum class Synchronisation { all_reduce, parameter_server };
constexpr auto choices(Synchronisation)
{
  return std::to_array<Choice<Synchronisation>>(
      {{Synchronisation::all_reduce, "all-reduce"},
       {Synchronisation::parameter_server, "parameter-server"}});
}

/// What may travel while backward still computes.
enum class Overlap { none, per_tensor, buckets };
constexpr auto choices(Overlap)
{
  return std::to_array<Choice<Overlap>>({{Overlap::none, "none"},
                                         {Overlap::per_tensor, "per-tensor"},
                                         {Overlap::buckets, "buckets"}});
}

/// A bucket stays within the threshold, or closes once it holds that.
enum class BucketFill { at_most, at_least };
constexpr auto choices(BucketFill)
{
  return std::to_array<Choice<BucketFill>>(
      {{BucketFill::at_most, "at-most"}, {BucketFill::at_least, "at-least"}});
}

/// Whatever is there at a cycle is fused, or buckets are filled in order.
enum class BucketOrder { ready, fixed };
constexpr auto choices(BucketOrder)
{
  return std::to_array<Choice<BucketOrder>>(
      {{BucketOrder::ready, "ready"}, {BucketOrder::fixed, "fixed"}});
}

/// When ranks begin to agree on a gradient: once it exists, or once the kernels that compute it are
/// launched, ahead of the GPU.
enum class HandedOver { computed, launched };
constexpr auto choices(HandedOver)
{
  return std::to_array<Choice<HandedOver>>(
      {{HandedOver::computed, "computed"}, {HandedOver::launched, "launched"}});
}

/// What convolutions do of the batch normalisation beside them: nothing; the one before it adds up
/// its result and the squares of it, which is the statistics' pass (cuDNN,
/// CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS); or the one after it applies scale, shift and
/// activation, too, while it reads, so that no kernel is left forward.
enum class BatchNorm { alone, sums_in_convolution, in_convolutions };
constexpr auto choices(BatchNorm)
{
  return std::to_array<Choice<BatchNorm>>({{BatchNorm::alone, "alone"},
                                           {BatchNorm::sums_in_convolution, "sums-in-convolution"},
                                           {BatchNorm::in_convolutions, "in-convolutions"}});
}

/// How parameter servers of a framework work.
struct ServerRules {
  ServerPlace on = ServerPlace::workers; // where they run unless the job says so: workers, apart
  ServerClient worker =
      ServerClient::node; // who pushes and pulls: the GPUs of a node as one, or each GPU
  ServerShard shard = ServerShard::tensor; // what goes to one server
  Bytes partition{4.0e6}; // largest piece with "bytes", smallest divided tensor with "large"
  ServerPull pull =
      ServerPull::piece; // "piece": as soon as a piece is summed; "step": when all are
  FetchOrder fetch_order = FetchOrder::any; // with "step"
  int sum_threads = 0;                      // of a server; 0: as many as there are cores
  BytesPerSecond sum_rate{7e9};             // at which one core adds
  bool updates = false;                     // servers apply the update too
  Seconds message{};                        // host time per message that others behind it wait for
  double copies = 0;           // of each byte by the CPU beyond the transport's, at each end
  bool one_process = false;    // servers and workers are one: only on one node
  int network_threads = 0;     // that serve the network in a process; 0: one per connection
  BytesPerSecond verbs_rate{}; // of a process over RDMA, each way; 0: what the adapter carries
  bool between_nodes = false;  // with all-reduce: jobs of several nodes have them without asking
  bool sockets = false;        // they speak TCP only, also with processes of their own node
  /// What travels to them and back, where the framework's own may be shorter.
  GradientPrecision gradient_precision = GradientPrecision::compute;
};

/// How a library computes products and convolutions, as far as it costs memory traffic.
struct KernelSpec {
  double operand_passes = 1;     // times a product moves each operand; 2: repacked before use
  double result_passes = 1;      // times it moves its result; 3: set to zero, then added to
  bool fused_bias = true;        // a bias is added on the way
  bool batched_products = true;  // attention's products of all samples and heads in one call
  bool explicit_patches = false; // convolutions gather patches into a matrix (im2col)
  Seconds patch_run{};           // explicit patches: start of each run of channels
  Seconds weight_line{};         // wait for each line of a weight that is in no cache
  bool copies_batch = false;     // the input batch is copied before the first layer
  /// Extra passes over operands and results of products on tensor cores, which want channels last
  /// where the framework keeps channels first: 2 (read and write) when each is converted.
  double tensor_core_layout = 0;
  /// Instructions for each multiply-accumulate of kernels of convolutions that read their windows
  /// as they are, in groups of few channels: loads, addresses and bounds beside the product.
  double direct_instructions = 22;
  /// In half precision, softmax and normalisation of positions compute in single precision
  /// (torch.autocast), and what follows up to the next product.
  bool autocast = false;
  /// One kernel does attention of a transformer (FlashAttention); else its scores pass through
  /// memory. Layers say it themselves.
  bool fused_attention = true;
  BatchNorm batch_norm = BatchNorm::alone;
  /// With fused chains: of linear layers too (epilogues of cuBLASLt).
  bool activations_in_products = false;
  /// Whose operations have no kernels of their own; with fused chains what is left of these.
  Composition composed = Composition::none;
};

/// All GPUs of a node hang on one process. CUDA lets one of its threads launch at a time, so that
/// what is launched after the exchange, when no GPU has work left to hide it, follows GPU after
/// GPU.
struct OneProcess {
  double launches_per_gradient = 1;      // beside the optimizer's
  double launches_per_half_gradient = 0; // more in half precision: the scale of the loss
};

struct Framework {
  std::string name;
  std::optional<sim::GpuVendor> vendor; // of the GPUs that it runs on; none: anybody's
  bool trains = true;                   // false: it knows forward passes only
  std::vector<std::string> networks;    // that its program is written for; empty: any
  Synchronisation synchronisation = Synchronisation::all_reduce;
  Overlap overlap = Overlap::buckets;
  std::string algorithm = "auto";             // of the all-reduce
  Value library;                              // collective library
  Value library_between_nodes;                // of jobs of several nodes, unless it is the same
  Bytes fusion_threshold{64.0 * 1024 * 1024}; // largest bucket
  Bytes first_bucket{};                       // the first one's own; 0: as the others
  Seconds fusion_cycle{};                     // buckets leave at multiples of this; 0: when full
  bool fusion_copies = true;                  // through a fusion buffer
  bool bucket_copies = false;                 // by kernels for each gradient (bucket_copies.hpp)
  BucketFill bucket_fill = BucketFill::at_most;
  BucketOrder bucket_order = BucketOrder::ready;
  int gradient_groups = 0; // buckets of as many tensors each, whatever their size; 0: by size
  HandedOver handed_over = HandedOver::computed;
  Seconds launch_interval{};       // of kernels, where gradients are handed over when launched
  Seconds coordination{};          // one agreement (of a cycle, or on a bucket), fixed part
  Seconds coordination_per_rank{}; // and for each rank; 0 with a response cache
  GradientPrecision gradient_precision = GradientPrecision::fp32; // or the job's ("compute")
  Seconds step_overhead{};              // host time per step that kernels do not hide
  std::optional<HostLaunches> launches; // absent: not known, never the limit
  Seconds operation_gap{};              // no kernel runs for this long after each operation
  bool launches_ahead = false;          // kernels of a batch are launched without work between them
  std::optional<ServerRules> servers;   // when it has any
  bool fused_elementwise = false;       // chains of element-wise work are one kernel, or ride along
  KernelSpec kernels;
  std::optional<TransformerRules> transformer; // absent: the defaults
  PlanLimits plans;                            // of large models
  std::string kernel_library; // generation of its library of kernels; empty: the latest
  OptimizerStyle optimizer_style = OptimizerStyle::fused;
  std::optional<OneProcess> one_process;     // absent: each GPU has a process of its own
  std::optional<TablePlacement> tables;      // of embeddings; absent: every GPU has as much to do
  std::optional<FrequentRows> frequent_rows; // of embeddings, without tables; absent: none
  double step_variation = 0.01;              // coefficient of variation of a GPU's step time
  int last_year = 0;                         // of its code; 0: not told
  std::string newer;                         // preset of later code
  double host_threads = 1; // cores that each GPU's process keeps busy; part of one: a thread that
                           // is busy for that part of the time
  Seconds start{};         // from the process's first instruction to the first step
  InputSettings input;
};

/// Whether the framework's program is written for a network of this name.
inline bool written_for(const Framework& f, const std::string& network)
{
  return f.networks.empty() || std::ranges::find(f.networks, network) != f.networks.end();
}

/// Gradients are agreed on in a cycle as soon as their kernels are launched.
inline bool agrees_ahead(const Framework& f)
{
  return f.handed_over == HandedOver::launched && f.bucket_order == BucketOrder::ready &&
         f.fusion_cycle.value() > 0 && f.overlap != Overlap::none;
}

/// Reads and checks a framework.
Framework load_framework(const Value& reference);

template <class V>
void describe(V& v, ServerRules& s)
{
  v.optional("on", s.on, "where servers run unless the job says so");
  v.optional("worker", s.worker, "who pushes and pulls");
  v.optional(
      "shard", s.shard,
      "what goes to one server: whole tensors; partitions of bytes; or whole tensors but for "
      "large ones, of which each server has a part");
  v.optional("partition", s.partition,
             "largest piece when sharded by bytes; smallest tensor that is large", positive());
  v.optional("pull", s.pull,
             "piece: pulled as soon as it is summed; step: when all gradients of a step are");
  v.optional("fetch_order", s.fetch_order,
             "with step: variables arrive in any order, or in that of the forward pass");
  v.optional("sum_threads", s.sum_threads, "of a server; 0: as many as there are cores",
             between(0, 1024));
  v.optional("sum_rate", s.sum_rate, "at which one core adds", positive());
  v.optional("updates", s.updates, "servers apply the update too");
  v.optional("message", s.message, "host time per message", non_negative());
  v.optional("copies", s.copies, "of each byte by the CPU, beyond the transport's, at each end",
             between(0, 100));
  v.optional("one_process", s.one_process,
             "servers and workers are one process: a job has one node");
  v.optional("network_threads", s.network_threads,
             "that serve the network in a process; 0: one per connection", between(0, 1024));
  v.optional("verbs_rate", s.verbs_rate,
             "what a process moves over RDMA, each way; 0: what the adapter carries",
             non_negative());
  v.optional("between_nodes", s.between_nodes,
             "with all-reduce: a job of several nodes has servers, also where it names none");
  v.optional("sockets", s.sockets,
             "they speak TCP only, with processes of their own node over the loopback device; on a "
             "transport of RDMA they take its \"sockets\"");
  v.optional("gradient_precision", s.gradient_precision,
             "what travels between workers and servers: fp32, or compute: as the framework's own");
}

template <class V>
void describe(V& v, OneProcess& s)
{
  v.optional("launches_per_gradient", s.launches_per_gradient,
             "kernels for each gradient tensor after the exchange, beside the optimizer's",
             between(0, 1000));
  v.optional("launches_per_half_gradient", s.launches_per_half_gradient,
             "more of them in half precision, for the scale of the loss", between(0, 1000));
}

template <class V>
void describe(V& v, KernelSpec& s)
{
  v.optional("operand_passes", s.operand_passes,
             "times that a product moves each operand: 2 when it is repacked first",
             between(1, 10));
  v.optional("result_passes", s.result_passes,
             "times that a product moves its result: 3 when it is set to zero and added to",
             between(1, 10));
  v.optional("fused_bias", s.fused_bias, "a bias is added while the product is written");
  v.optional("batched_products", s.batched_products,
             "attention's products of all samples and heads are one call");
  v.optional("explicit_patches", s.explicit_patches,
             "convolutions gather patches into a matrix (im2col)");
  v.optional("patch_run", s.patch_run,
             "with explicit patches: time to begin one run of neighbouring channels",
             non_negative());
  v.optional("weight_line", s.weight_line,
             "for training on CPUs: time that a product waits for each 64 bytes of a weight that "
             "is in no cache, beside moving it: rows are read in pieces, which nothing fetches "
             "ahead",
             non_negative());
  v.optional("copies_batch", s.copies_batch, "the batch is copied before the first layer");
  v.optional("tensor_core_layout", s.tensor_core_layout,
             "passes over operands and results to convert channels first to channels last for "
             "products in half precision: 2 where each is read and written once more",
             between(0, 10));
  v.optional(
      "direct_instructions", s.direct_instructions,
      "that each multiply-accumulate of a convolution in groups of few channels takes, loads "
      "and addresses included",
      between(1, 1000));
  v.optional("autocast", s.autocast,
             "in half precision softmax and layer and group normalisation compute in single "
             "precision, with conversions before them (but for softmax of fp16, which takes it as "
             "it is) and before the next product");
  v.optional("fused_attention", s.fused_attention,
             "a transformer's attention is one kernel (FlashAttention), else scores pass through "
             "memory; a job's \"attention\" comes first, and networks told by their layers say "
             "it themselves");
  v.optional("batch_norm", s.batch_norm,
             "alone: kernels of its own; sums-in-convolution: the convolution before it adds up "
             "the batch's statistics while it writes; in-convolutions: and the one after it "
             "normalises while it reads");
  v.optional("activations_in_products", s.activations_in_products,
             "with fused_elementwise: the product of a linear layer applies the activation behind "
             "it while it writes its result, and its gradient backward (epilogues of cuBLASLt)");
  v.optional("composed", s.composed,
             "GELU, swish, layer normalisation, dropout and softmax have no "
             "kernels of their own but are composed of others as in this framework; with "
             "fused_elementwise what its compiler leaves of them; in half precision GELU and layer "
             "normalisation compute in single");
}

template <class V>
void describe_host(V& v, Framework& s)
{
  v.optional("step_overhead", s.step_overhead, "host time per step that kernels do not hide",
             non_negative());
  v.optional(
      "launches", s.launches,
      "host time of the operations and launches of a layered network, ahead of the GPU: where "
      "it is longer than the kernels, the GPU waits; default: it never is");
  v.optional(
      "operation_gap", s.operation_gap,
      "after each operation of a layer, and each update of a tensor, until the next begins: an "
      "engine that waits for the GPU before it goes on",
      non_negative());
  v.optional("launches_ahead", s.launches_ahead,
             "an engine launches all kernels of a batch without work of its own between them: they "
             "follow each other as closely as the GPU lets them (kernel_floor)");
}

template <class V>
void describe_buckets(V& v, Framework& s)
{
  v.optional("fusion_threshold", s.fusion_threshold, "largest bucket of fused gradients",
             non_negative());
  v.optional("first_bucket", s.first_bucket,
             "largest first bucket, which shall leave early; 0: as the others", non_negative());
  v.optional(
      "bucket_fill", s.bucket_fill,
      "at-most: a bucket stays within the threshold; at-least: it closes once it holds that");
  v.optional("fusion_cycle", s.fusion_cycle, "buckets leave at multiples of this", non_negative());
  v.optional("fusion_copies", s.fusion_copies, "gradients are copied into and out of a buffer");
  v.optional("bucket_copies", s.bucket_copies,
             "each gradient is copied into its bucket, and its sum back, by a kernel of its own on "
             "the stream of the others");
  v.optional("bucket_order", s.bucket_order,
             "ready: what is there at a cycle is fused; fixed: buckets are filled in order");
  v.optional("gradient_groups", s.gradient_groups,
             "buckets that hold equally many tensors, whatever their size, in place of threshold "
             "and cycle (Horovod's num_groups); 0: none",
             between(0, 100000));
  v.optional(
      "handed_over", s.handed_over,
      "when a gradient counts as there at a cycle: computed; or launched, when the host has "
      "launched the kernels that compute it: buckets are agreed on ahead of the GPU, and the "
      "thread that asks waits until all of a bucket is computed before it goes on");
  v.optional("launch_interval", s.launch_interval,
             "for that: from one kernel's launch to the next, as long as the host is ahead of the "
             "GPU",
             non_negative());
  v.optional(
      "coordination", s.coordination,
      "one agreement of the ranks: on what is ready in a cycle, or without cycles on a bucket",
      non_negative());
  v.optional("coordination_per_rank", s.coordination_per_rank,
             "and for each rank; 0 where responses are cached (Horovod from 0.17 on)",
             non_negative());
}

template <class V>
void describe(V& v, Framework& s)
{
  v.format("foretrain.framework/1");
  v.required("name", s.name, "name and version");
  v.optional("vendor", s.vendor, "who makes the GPUs that it runs on; none: anybody");
  v.optional("trains", s.trains, "false: it knows forward passes only (inference)");
  v.optional("networks", s.networks, "that its program is written for; default: any");
  v.optional("synchronisation", s.synchronisation, "how gradients are combined");
  v.optional("overlap", s.overlap, "what may travel while backward still computes");
  v.optional("algorithm", s.algorithm, "collective algorithm; auto lets the library choose");
  v.optional("library", s.library, "the collective library; default nccl", preset("library"));
  v.optional("library_between_nodes", s.library_between_nodes,
             "the collective library of jobs that have several nodes; default the same",
             preset("library"));
  describe_buckets(v, s);
  v.optional("gradient_precision", s.gradient_precision, "what travels");
  describe_host(v, s);
  v.optional(
      "servers", s.servers,
      "parameter servers: how they work; with all-reduce used by jobs that name some, or have "
      "several nodes (between_nodes)");
  v.optional("fused_elementwise", s.fused_elementwise,
             "a compiler (XLA, NNVM, Inductor) or kernels of its own (cuDNN, Megatron) fuse chains "
             "of element-wise work, activations and additions with what stands beside them");
  v.optional("kernels", s.kernels, "memory traffic of its products and convolutions");
  v.optional("transformer", s.transformer, "what it does around the kernels of a transformer");
  v.optional("plans", s.plans,
             "ways to divide a large model that it has; others are predicted as if it had them, "
             "with a warning, and tune proposes none of them");
  v.optional("kernel_library", s.kernel_library,
             "generation of its kernels, as GPUs name them under \"generations\", like cudnn-7.0; "
             "default the latest");
  v.optional("optimizer_style", s.optimizer_style, "how it runs an optimizer");
  v.optional("one_process", s.one_process,
             "all GPUs of a node hang on one process, whose launches follow each other");
  v.optional("tables", s.tables,
             "which GPUs hold which embedding tables; default: all have as much to do");
  v.optional("frequent_rows", s.frequent_rows,
             "which rows of embedding tables every GPU keeps, unless tables says where they lie");
  v.optional("step_variation", s.step_variation, "coefficient of variation of one GPU's step time",
             between(0, 1));
  v.optional("last_year", s.last_year,
             "of its code: large models on GPUs that came later get a warning; 0: none",
             between(0, 3000));
  v.optional("newer", s.newer, "preset that stands for later code of its kind");
  v.optional("host_threads", s.host_threads,
             "cores that each GPU's process keeps busy while it computes; below 1: one thread that "
             "is busy for that part of the time, and where cores are short gets as much of them as "
             "any other thread",
             non_negative());
  v.optional("start", s.start, "from the process's first instruction to the first step",
             non_negative());
  v.optional("input", s.input, "how batches are read, decoded and copied");
}

} // namespace foretrain::models
