// Variables that live with servers: a step fetches them anew, and each layer of the forward pass
// waits for its own.
#pragma once

#include "models/training/buckets.hpp"
#include "models/training/framework.hpp"

#include <vector>

namespace foretrain::models {

/// Time of the profile's forward pass before the layer that needs each bucket's variables first.
std::vector<Seconds> needed_at(const std::vector<Bucket>& buckets, const ComputeProfile& profile);

/// In which order a step fetches the variables of its buckets. That of the forward pass is the
/// reverse of theirs; any other is one drawn once, since of many tensors one of the first layers
/// comes late in nearly all of them.
std::vector<std::size_t> fetched_in(FetchOrder order, std::size_t buckets);

/// What a forward pass takes longer whose variables arrive at this rate, in this order.
Seconds exposed_fetch(const std::vector<Bucket>& buckets, const ComputeProfile& profile,
                      BytesPerSecond rate, FetchOrder order);

} // namespace foretrain::models
