// The stages of a job's input on one GPU, as flows over the machine and its storage.
#pragma once

#include "experiments/resolve.hpp"
#include "experiments/tenancy.hpp"
#include "models/input_pipeline.hpp"
#include "platforms/storage_system.hpp"

#include <vector>

namespace foretrain::experiments {

/// Share of a job's reads that its nodes' page caches and the servers' memory answer.
struct CacheHits {
  double node = 0;
  double server = 0; // of what the nodes' caches did not have
};

/// In the first epoch (cold) or in later ones (warm: the steady state). A job without storage of
/// its own reads from memory.
CacheHits cache_hits(const ResolvedJob& job, Bytes page_cache, Bytes server_cache, bool warm);

/// Read, decode, copy for the GPU at `place`; empty with synthetic input. `machine` is the job's
/// view of it.
std::vector<models::InputStage> input_stages(const ResolvedJob& job,
                                             const platforms::Machine& machine,
                                             const platforms::StorageSystem& storage,
                                             platforms::GpuPlace place, double threads,
                                             const CacheHits& hits);

} // namespace foretrain::experiments
