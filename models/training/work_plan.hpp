// A job written as a work program, and what is known of it before it runs.
#pragma once

#include "sim/workload/program.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

struct MemoryPart {
  std::string name; // "weights", "gradients", "optimizer", "activations", "other"
  Bytes size;
};

/// Arithmetic of one step of the whole job, without what is computed again: the forward pass and
/// twice as much backward. Attention of a causal model counted in full, or the half that is needed.
struct ModelFlops {
  Flops full;
  Flops causal;
};

struct WorkPlan {
  sim::Program program;
  double samples_per_step = 1;
  std::vector<MemoryPart> memory;  // of a device, where no transformer tells it
  double step_variation = 0;       // coefficient of variation of one device's time
  double one_gpu = 0;              // samples per second of one GPU by itself; 0: not told
  bool one_gpu_by_profile = false; // not told: it runs the job's profile; else a GPU that never
                                   // waits stands for it
  std::string summary;             // "TP 8, PP 4, DP 2, 1F1B, 16 micro-batches"
  std::vector<std::string> warnings;
};

/// All parts together.
Bytes memory_of(const WorkPlan& plan);

} // namespace foretrain::models
