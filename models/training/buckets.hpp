// Which gradients travel together, and when they can leave.
#pragma once

#include "models/training/compute_profile.hpp"
#include "models/training/framework.hpp"

#include <vector>

namespace foretrain::models {

struct Bucket {
  Bytes size;
  int tensors = 0;
  /// Backward time of the profile after which all of its gradients exist.
  Seconds ready;
  /// Last layer (lowest index) whose gradients are in it.
  int last_layer = 0;
  /// Of gradients agreed on ahead of the GPU, from the step's start: when the host has launched the
  /// kernels of all of them.
  Seconds launched{};
  /// The ranks agreed on it together with the bucket before.
  bool agreed_with_previous = false;
};

/// Buckets in the order in which they leave. Backward runs from the last layer to the first; a
/// layer's gradients exist when its backward has ended.
///
/// Cycle-driven fusion (Horovod: Sergeev and Del Balso, 2018) is planned on the profile without
/// variation: at each cycle what is ready is fused up to the threshold. Where gradients are handed
/// over when their kernels are launched (horovod/common/operations.cc, PerformOperation), the
/// thread that fused a bucket waits until all of it is computed, one bucket after the other, and
/// meets at its next cycle all that was launched meanwhile. Fixed buckets are filled in order (Li
/// et al., "PyTorch Distributed", VLDB 2020), the first one up to a limit of its own. Per-tensor
/// overlap sends each tensor by itself.
std::vector<Bucket> plan_buckets(const Network& network, const ComputeProfile& profile,
                                 const Framework& framework, int bytes_per_gradient);

} // namespace foretrain::models
