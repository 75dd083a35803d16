// What a framework's process does before kernels of a layered network run.
#pragma once

#include "sim/base/schema.hpp"

namespace foretrain::models {

/// Host time of a step. One thread runs the operations of forward, then of backward, then the
/// update, and launches their kernels ahead of the GPU; it does not wait for the GPU, so that a
/// step takes as long as the slower of the two.
struct HostLaunches {
  Seconds per_operation{};      // of a layer, each way, beside launches: module, dispatch, graph
  Seconds per_kernel{5e-6};     // that is launched
  double casts_per_weight{};    // in half precision: kernels for each weight of a product, each way
  double checks_per_gradient{}; // in half precision: kernels for each gradient tensor, for the
                                // scale of the loss
};

template <class V>
void describe(V& v, HostLaunches& s)
{
  v.optional("per_operation", s.per_operation,
             "host time of a layer's operation, forward and backward each, beside launches: "
             "modules, dispatch, the graph that backward walks",
             non_negative());
  v.optional("per_kernel", s.per_kernel, "host time to launch one kernel", non_negative());
  v.optional("casts_per_weight", s.casts_per_weight,
             "in half precision: kernels that convert a weight of a product, forward and backward "
             "each",
             between(0, 10));
  v.optional("checks_per_gradient", s.checks_per_gradient,
             "in half precision: kernels for each gradient tensor that undo the scale of the loss "
             "and look for overflows",
             between(0, 10));
}

} // namespace foretrain::models
