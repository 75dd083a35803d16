// What a framework's process does before the kernels of a network run, told by layers or as a
// transformer.
#pragma once

#include "sim/base/schema.hpp"

#include <span>
#include <vector>

namespace foretrain::models {

/// Host time of a step, casts and checks in half precision on tensor cores alone. One thread runs
/// the operations of forward, then of backward, then the update, and launches their kernels ahead
/// of the GPU; it does not wait for the GPU, so that a step takes as long as the slower of the two.
struct HostLaunches {
  Seconds per_operation{};      // each way, beside launches: module, dispatch, graph
  Seconds per_kernel{5e-6};     // that is launched
  double casts_per_weight{};    // kernels for each weight of a product, each way
  double checks_per_gradient{}; // kernels for each gradient tensor, for the scale of the loss

  /// Of operations and the kernels that they launch.
  Seconds time(double operations, double kernels) const
  {
    return operations * per_operation + kernels * per_kernel;
  }
  /// The same work on a host that is `factor` times as fast.
  void quicken(double factor)
  {
    per_operation *= 1 / factor;
    per_kernel *= 1 / factor;
  }
};

/// Part of a step: what its kernels take, and what the host takes to launch them.
struct HostedPiece {
  Seconds kernels;
  Seconds host;
};

/// How long the GPU waits for its host in each piece of a step. The host does one after the other,
/// step after step; the GPU runs a piece's kernels once they are launched and those before are
/// done:
///
///   begin(i) = max(launched(i), end(i - 1)),   end(i) = begin(i) + kernels(i)
///
/// In the long run a step takes as long as the slower of the two: where the sum of kernels is
/// longer the host is ahead and the GPU never waits, else the GPU waits for the difference, before
/// the pieces where it has caught up.
std::vector<Seconds> waits_for_host(std::span<const HostedPiece> pieces);

template <class V>
void describe(V& v, HostLaunches& s)
{
  v.optional("per_operation", s.per_operation,
             "host time of an operation that the framework dispatches (a layer, or a kernel of a "
             "transformer's forward pass), forward and backward each, beside launches: modules, "
             "dispatch, the graph that backward walks",
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
