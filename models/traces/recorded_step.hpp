// A recorded step as stretches of kernels, waiting and exchanges taken apart.
#pragma once

#include "models/networks/measured_spec.hpp"
#include "models/traces/steps.hpp"

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

/// What the device waited for collectives counts as `exposed`: for all-reduces alone, or for all of
/// them where they are simulated anew.
RecordedStep take_apart(const Trace& trace, const TraceStep& step, bool all_collectives = false);

/// Whether work is a copy of input: from the host, of a size that counts.
bool copies_input(const Trace& trace, const DeviceWork& work);

} // namespace foretrain::models
