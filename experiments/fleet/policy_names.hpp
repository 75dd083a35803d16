// Names of whole policies, as others call them.
#pragma once

#include "models/fleet/policy.hpp"
#include "sim/base/document.hpp"

namespace foretrain::experiments {

/// A policy by its name or as an object; absent: fifo. Throws ConfigError.
models::fleet::Policy read_policy(const Value& policy);

} // namespace foretrain::experiments
