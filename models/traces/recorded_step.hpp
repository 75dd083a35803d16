// A recorded step as stretches of kernels, waiting and exchanges taken apart.
#pragma once

#include "models/networks/measured_spec.hpp"
#include "models/traces/steps.hpp"

#include <functional>

namespace foretrain::models {

struct RecordedStep {
  std::vector<MeasuredStretch> forward, backward;
  MeasuredStretch optimizer;
  std::vector<std::vector<std::size_t>> gradients; // of each backward stretch: into TraceStep's
  double host = 0;                                 // idle after the last kernel
  double input = 0;                                // idle while the host waited for a batch
  double copy = 0;                                 // exposed copies of the batch to the device
  double exposed = 0;                              // no kernel ran but a collective did
  double busy = 0; // any kernel ran, collectives and copies of the batch left out
};

/// What the device waited for collectives counts as `exposed` where they are simulated anew, else
/// as idle time of the stretches.
RecordedStep take_apart(const Trace& trace, const TraceStep& step,
                        const std::function<bool(const DeviceWork&)>& simulated);

/// Whether work is a copy of input: from the host, of a size that counts.
bool copies_input(const Trace& trace, const DeviceWork& work);

/// Whether work is a copy that leaves the device or comes from outside: no other GPU makes it
/// quicker.
bool copies_over_the_bus(const Trace& trace, const DeviceWork& work);

} // namespace foretrain::models
