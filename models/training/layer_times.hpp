// Times of a step's layers on one GPU, and where it waits for the host that launches its kernels.
#pragma once

#include "sim/base/units.hpp"

#include <vector>

namespace foretrain::models {

struct LayerTime {
  Seconds forward;
  Seconds backward;
  bool product = false; // a convolution or a matrix product
  double backward_kernels = 1;
  Seconds forward_idle{}, backward_idle{}; // of these, with no kernel on the GPU
  Seconds forward_host{}, backward_host{}; // that the host needs to launch it
};

/// What updates cost where the host launches them behind the exchange of gradients: no rate of one
/// GPU holds it.
struct BehindGradients {
  Seconds host;   // of its own work
  Seconds passes; // of what passes through memory more than once
  Seconds launch; // of one kernel, where one process launches for several GPUs
};

struct ComputeProfile {
  std::vector<LayerTime> layers; // in forward order
  Seconds optimizer;
  Seconds optimizer_idle;        // of it, with no kernel on the GPU
  Seconds optimizer_host;        // that the host needs to launch it
  BehindGradients behind;        // on top where the host waits for them
  double optimizer_launches = 0; // of the optimizer's kernels in a step
  Seconds forward() const;
  Seconds backward() const;
  Seconds total() const { return forward() + backward() + optimizer; }
  Seconds idle() const; // of that, with no kernel on the GPU
  Seconds kernels() const { return total() - idle(); }
  /// Without idle times that were recorded: kernels, and what the GPU waits for its host.
  Seconds computed() const { return host().value() > 0 ? total() : kernels(); }
  /// Of the time from `from` to `until` after the beginning of forward (of backward) that in which
  /// the GPU has no kernel: a layer's is spread over it.
  Seconds forward_idle(Seconds from, Seconds until) const;
  Seconds backward_idle(Seconds from, Seconds until) const;
  Seconds host() const; // of all operations and launches; 0: not known, idle times are recorded
  bool host_bound() const { return host() > kernels(); }
  /// The same profile with every kernel `factor` times as long. What the GPU waits for its host
  /// follows; recorded idle time stays as it is.
  ComputeProfile scaled(double factor) const;
  /// The same with host work `factor` times as long.
  ComputeProfile hosted(double factor) const;
};

/// By how much kernels and host work take longer than computed.
struct Lengthening {
  double kernels = 1;
  double host = 1;
};

/// What makes a step of `profile`, recorded idle times apart, `factor` times as long. A measured
/// step tells how long the slower of GPU and host takes, and of the other that it takes no longer.
Lengthening lengthening_of(const ComputeProfile& profile, double factor);
ComputeProfile lengthened(const ComputeProfile& profile, const Lengthening& by);

/// The profile with the idle times that follow from its host times (waits_for_host). One without
/// host times (of recordings) stays as it is.
ComputeProfile behind_host(ComputeProfile profile);

} // namespace foretrain::models
