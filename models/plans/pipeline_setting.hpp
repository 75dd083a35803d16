// What a pipeline is made of: its pieces, and the passes that stages do of them.
#pragma once

#include "models/plans/parallel.hpp"
#include "sim/base/units.hpp"

#include <vector>

namespace foretrain::models {

/// What a piece takes on its stage.
struct PieceTime {
  Seconds forward;
  Seconds backward; // with what it repeats
  Seconds weights;  // of backward: gradients of weights, which nobody waits for
  Seconds transfer; // of activations to the next piece, and of their gradients back
};

struct PipelineSetting {
  int stages = 1;
  int virtual_stages = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int micro_batches = 1;
  std::vector<PieceTime> pieces; // stages x virtual_stages, in forward order
  bool blocking = true;          // stages wait for their transfers (Megatron without overlap)
};

struct PipelineSlice {
  bool backward = false;
  int micro_batch = 0;
  int piece = 0;
  Seconds start{}, end{};
  bool split = false;  // gradients of weights are put off
  int weights = 0;     // of those that were: so many are made behind the pass, the oldest first
  bool paired = false; // begins when the pass behind it may, too, and sends when that one does
};

/// The work of every stage, in its order.
using StageOrders = std::vector<std::vector<PipelineSlice>>;

/// What a pass sends when it has ended; none after the last one of its direction, or on one stage.
Seconds transfer_time(const PipelineSetting& setting, const PipelineSlice& slice);

} // namespace foretrain::models
