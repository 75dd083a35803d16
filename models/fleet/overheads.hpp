// What jobs did with their GPUs other than work, for pictures of a cluster's time.
#pragma once

#include "models/fleet/checkpoint.hpp"
#include "models/fleet/job.hpp"

#include <vector>

namespace foretrain::models::fleet {

enum class Overhead : std::uint8_t {
  checkpoint, // a write, while the job waits for it or works
  restart,    // detection, until work goes on, and the read of a checkpoint
  lost,       // work that a failure takes back
};

struct OverheadSpan {
  JobId job;
  Overhead what;
  Seconds from, until;
};

/// Writes of an attempt that works between two times, where they take the same time each.
void add_writes(std::vector<OverheadSpan>& spans, JobId job, Seconds from, Seconds until,
                const Checkpointing& checkpointing);

} // namespace foretrain::models::fleet
