// What a platform would take for the collectives that a recording holds, as nccl-tests would time
// them there: one call at a time, nothing else running, ranks on neighbouring GPUs.
#pragma once

#include "models/traces/trace_summary.hpp"
#include "platforms/platform.hpp"
#include "platforms/stack.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// Where the recorded ranks would be.
struct TracePlacement {
  int gpus_per_node = 0; // 0: as many as the platform's nodes have, or by the number of nodes
  int nodes = 0;         // of the whole job; 0: by the GPUs per node
};

struct PredictedCollective {
  double seconds = 0;  // 0: not predicted
  double bus_rate = 0; // bytes per second
  int nodes = 0;       // that the group is on
};

/// One for each collective of the recording, in their order; notes say what could not be predicted.
struct TracePrediction {
  std::string platform;
  std::vector<PredictedCollective> collectives;
  std::vector<std::string> notes;
};

/// Throws UsageError when a placement asks for more GPUs than the platform's nodes have.
TracePrediction predict_collectives(const models::TraceSummary& trace,
                                    const platforms::PlatformSpec& platform,
                                    const platforms::Stack& stack, const Value& library,
                                    const TracePlacement& placement);

} // namespace foretrain::experiments
