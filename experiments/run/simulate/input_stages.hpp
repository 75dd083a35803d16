// The stages of a job's input on one GPU, as flows over the machine and its storage.
#pragma once

#include "experiments/run/simulate/tenancy.hpp"
#include "experiments/spec/resolve.hpp"
#include "models/input/input_pipeline.hpp"
#include "platforms/storage_system.hpp"

#include <vector>

namespace foretrain::experiments {

/// Share of a job's reads that its nodes' page caches and the servers' memory answer.
struct CacheHits {
  double node = 0;
  double server = 0; // of what the nodes' caches did not have
};

/// In the first epoch (cold) or in later ones (warm: the steady state) of a job on `nodes` nodes.
CacheHits cache_hits(const ResolvedInput& input, int nodes, Bytes page_cache, Bytes server_cache,
                     bool warm);

/// What one GPU's input has to itself.
struct InputShare {
  double threads = 1;   // that decode
  int gpus_on_node = 1; // of the job, this one included
  CacheHits hits;
  sim::ResourceId file_thread{-1}; // that opens files and hands them out, one per node
};

/// Read, decode, copy for the GPU at `place`; empty with synthetic input. `machine` is the job's
/// view of it.
std::vector<models::InputStage> input_stages(const ResolvedJob& job,
                                             const platforms::Machine& machine,
                                             const platforms::StorageSystem& storage,
                                             platforms::GpuPlace place, const InputShare& share);

} // namespace foretrain::experiments
