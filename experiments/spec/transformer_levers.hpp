// What better GPUs and leaner software bring to a transformer's job, whose program is written from
// its setting.
#pragma once

#include "experiments/spec/resolved.hpp"

namespace foretrain::experiments {

/// Arithmetic and memory of the GPU; not what the host does. Each does nothing for other jobs.
void faster_kernels(ResolvedJob& job, double factor);
/// What the host does for kernels, exchanges, experts, shards and micro-batches.
void quicker_host(ResolvedJob& job, double factor);
/// That, and what it does for the step.
void leaner_host(ResolvedJob& job, double factor);
/// Memory of the nodes, in which hosts update what is offloaded.
void faster_host_memory(ResolvedJob& job, double factor);
/// Copies between GPU and host memory.
void faster_host_link(ResolvedJob& job, double factor);
void steadier_kernels(ResolvedJob& job, double factor);

} // namespace foretrain::experiments
