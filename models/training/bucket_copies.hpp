// Kernels that copy gradients into the buckets in which they are added up, and sums back, where
// several ranks add them: one kernel for each gradient each way, on the stream of all others.
//
//   t = 2 * (launch + 2 * gradient / memory)   for each gradient: read and written, each way
//
// Into its bucket when it is computed; back before the update, which waits for the sums. That back
// copies of early buckets may run while late ones are still added up is not counted.
#pragma once

#include "models/networks/network.hpp"
#include "models/training/host_launches.hpp"
#include "models/training/layer_times.hpp"
#include "sim/cost/roofline.hpp"

#include <optional>

namespace foretrain::models {

/// The profile with these copies of gradients of so many bytes an element. One of a recording,
/// which has what its program did, stays as it is.
ComputeProfile with_bucket_copies(ComputeProfile profile, const Network& network,
                                  double bytes_per_element, const sim::Roofline& memory,
                                  const std::optional<HostLaunches>& launches);

} // namespace foretrain::models
