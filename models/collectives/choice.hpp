// Which algorithm a collective library takes: by its own estimate, which need not be what is
// quickest.
#pragma once

#include "models/collectives/pattern.hpp"

#include <string>

namespace foretrain::models {

/// What an estimate is made from.
struct Offer {
  Family family;
  const Protocol* protocol;
  Seconds latency;
  double rate; // of the buffer on an idle machine, bytes per second
};

/// Time in seconds that the library expects for `size` bytes on each rank; infinite for what it
/// does not consider. library.estimate names the rule:
/// "idle": the time on an idle machine.
/// "nccl-2.4": the same, but trees below a size threshold only, and rings above it
/// (ncclTreeThreshold in NCCL 2.4, src/init.cu).
/// "nccl-2.5": its model of itself over the graphs that it found, see tuning.hpp.
double expected_time(const Library& library, const sim::Communicator& comm, const Offer& offer,
                     Operation operation, double size);

} // namespace foretrain::models
