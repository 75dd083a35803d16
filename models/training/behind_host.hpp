// Where a GPU waits for the host that launches its kernels.
#pragma once

#include "models/training/compute_profile.hpp"

namespace foretrain::models {

/// The profile with the idle times that follow from its host times. The host does one operation
/// after the other, step after step; the GPU runs a layer's kernels once they are launched and
/// those before are done:
///
///   begin(i) = max(launched(i), end(i - 1)),   end(i) = begin(i) + kernels(i)
///
/// In the long run a step takes as long as the slower of the two: where the sum of kernels is
/// longer the host is ahead and the GPU never waits, else the GPU waits for the difference, before
/// the layers where it has caught up. A profile without host times (recorded ones) stays as it is.
ComputeProfile behind_host(ComputeProfile profile);

} // namespace foretrain::models
