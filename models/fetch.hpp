// Variables that live with servers: a step fetches them anew, and each layer of the forward pass
// waits for its own.
#pragma once

#include "models/buckets.hpp"

#include <vector>

namespace foretrain::models {

/// Time of the profile's forward pass before the layer that needs each bucket's variables first.
std::vector<Seconds> needed_at(const std::vector<Bucket>& buckets, const ComputeProfile& profile);

/// What a forward pass takes longer whose variables arrive at this rate, first layer's first.
Seconds exposed_fetch(const std::vector<Bucket>& buckets, const ComputeProfile& profile,
                      BytesPerSecond rate);

} // namespace foretrain::models
