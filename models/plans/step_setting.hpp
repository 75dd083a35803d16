// What a large model's step is made from: model, plan, device, framework, and times of exchanges.
#pragma once

#include "models/collectives/pattern.hpp"
#include "models/plans/memory.hpp"
#include "models/training/transformer_rules.hpp"
#include "models/transformer/compute.hpp"

#include <cmath>
#include <vector>

namespace foretrain::models {

/// Ranks that exchange: order of ranks is tensor, context, data, pipeline, the first the innermost.
enum class PlanGroup {
  tensor,
  context,
  heads,  // of context-parallel ranks, those that share heads
  ring,   // and those that hold other parts of the same heads' sequences
  data,   // data- and context-parallel ranks together: they hold the same weights
  shard,  // zero with "shard": "node": those of them on a node
  across, // and the same shard on other nodes
  expert,
  expert_node,   // those of them on a node, where they are on several
  expert_tensor, // that share each expert
  expert_data,   // holders of the same experts
};

/// Calls of the collective library, all alike.
struct PlannedCall {
  PlanGroup group;
  Operation operation;
  Bytes size; // as nccl-tests counts it: the whole buffer
  double times = 1;
};
using PlannedCalls = std::vector<PlannedCall>;

/// Sets of GPUs that exchange at once, by rank of the job: those of a stage that are waited for,
/// and those of other stages that share the way with them.
struct ExchangeSets {
  std::vector<std::vector<int>> own, others;
};

/// Times of exchanges on a machine: all groups of a kind that meet on it exchange at once.
class ExchangeTimes {
public:
  virtual ~ExchangeTimes() = default;
  /// Times asked for from now on are those of groups of this pipeline stage.
  virtual void of_stage(int /*stage*/) {}
  /// `size` as nccl-tests counts it: the whole buffer.
  virtual Seconds time(PlanGroup group, Operation operation, Bytes size) = 0;
  virtual int ranks(PlanGroup group) const = 0;
  /// That the first group of the stage reaches.
  virtual int nodes(PlanGroup /*group*/) const { return 1; }
  /// From every GPU of a pipeline stage to one of the next; from the last stage to the first.
  virtual Seconds transfer(int from_stage, Bytes size) = 0;
  /// Whom times are those of; empty where there is no machine.
  virtual ExchangeSets sets(PlanGroup /*group*/) { return {}; }
  /// Pairs of ranks that send between two stages at once.
  virtual std::vector<std::vector<int>> pairs(int /*from_stage*/, int /*to_stage*/) { return {}; }

  /// One after the other.
  Seconds time_of(const PlannedCalls& calls)
  {
    Seconds sum;
    for (const PlannedCall& call : calls)
      sum += call.times * time(call.group, call.operation, call.size);
    return sum;
  }
};

struct StepSetting {
  MemorySetting memory; // model, plan, batch, recompute, state
  TransformerDevice device;
  TransformerRules rules;
  bool fused_elementwise = true;            // chains of element-wise work are one kernel each
  Composition composed = Composition::none; // of which the framework's kernels are made
  Autocast autocast = Autocast::none;       // where nothing is fused
  Conversion conversion;                    // of an activation to what products take
  double variation = 0.005;                 // coefficient of variation of a GPU's equal steps
  double speed_variation = 0;               // and of the GPUs
  Seconds overhead;                         // of the framework per step
  int newton_schulz = 0;                    // iterations that make an update orthogonal; 0: none do
  BytesPerSecond host_link;                 // device to host memory, for what is offloaded
  BytesPerSecond host_memory;               // a GPU's share of its node's, likewise

  /// Whether gradients travel beside the backward pass. With zero 3 their sums between shards of
  /// nodes do as those among them (PyTorch, fully_shard: foreach_reduce, all_reduce_stream).
  bool hides_gradients() const
  {
    if (memory.gathers())
      return !rules.launch_blocking;
    return rules.overlap_gradients && (memory.plan.pipeline == 1 || rules.stages_overlap_gradients);
  }
  /// Coefficient of variation of a GPU's step, from step to step.
  double step_variation() const { return std::hypot(variation, memory.batch.varying_tokens()); }
};

} // namespace foretrain::models
