// A collective as a trace shows it: kind by name, size and group by arguments or by the host's
// call.
#pragma once

#include "models/traces/trace.hpp"

#include <optional>
#include <string>

namespace foretrain::models {

struct SeenCollective {
  std::string
      kind; // "all-reduce", "all-to-all", "all-gather", "reduce-scatter", "broadcast", "send"
  double bytes = 0; // of the whole buffer of a rank; 0: not told
  int group = 0;    // ranks; 0: not told
  /// Bytes over the busiest link per second, as nccl-tests count them; 0 where that is not known.
  double bus_rate(double seconds) const;
};

/// What a piece of device work of class collective is.
SeenCollective seen_collective(const Trace& trace, const DeviceWork& work);

} // namespace foretrain::models
