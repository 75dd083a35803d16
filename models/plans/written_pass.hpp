// One pass through a piece, as a program has it: what is computed, and which exchanges ride beside.
#pragma once

#include "models/plans/piece_cost.hpp"
#include "sim/workload/program.hpp"

#include <vector>

namespace foretrain::models {

/// Work of one kind on a device, in order.
struct PhaseTime {
  sim::Phase phase;
  Seconds time;
};

/// Some layers of a pass, or an end: computing, then exchanges of a group, and what computes beside
/// them.
struct WrittenPart {
  const char* name;
  std::vector<PhaseTime> ahead, beside;
  PlannedCalls calls;
};

/// The same in every micro-batch.
struct WrittenPass {
  std::vector<WrittenPart> parts;
  Seconds put_off; // gradients of weights that are made later
};

/// `together`: layers that are written as one. `put_off`: of a backward pass.
WrittenPass written_pass(const PieceCost& piece, bool backward, int together, Seconds put_off);

/// Calls that follow each other on one stream: alike ones are one operation.
PlannedCalls alike_as_one(PlannedCalls calls);

} // namespace foretrain::models
