// What one piece of a pipeline takes for one micro-batch.
#pragma once

#include "models/plans/planned_layer.hpp"

#include <algorithm>

namespace foretrain::models {

/// What a piece holds, in forward order: a layer, or what stands at the ends.
struct PlanUnit {
  const char* name = "";
  bool layer = true; // else an end
  int count = 1;
  Seconds forward;                     // of one, compute
  Seconds backward;                    // with what it repeats
  Seconds forward_wait, backward_wait; // of these, for the host
  LayerExchanges ahead, back;
};

/// Exchanges are what is exposed of them.
struct PieceCost {
  int layers = 0;
  Seconds forward_compute; // with what the device waits for its host, as the others
  Seconds backward_compute;
  Seconds recompute; // in the backward pass
  Seconds tensor, context, expert;
  Exposure data_ahead, data_back; // weights that are shared out, and their gradients
  Seconds forward_exchanges;      // of these, in the forward pass
  Bytes away;     // activations that go to host memory, and come back before the backward pass
  Seconds copied; // what that takes, each way; beside the pass

  std::vector<PlanUnit> units;

  Seconds data() const { return data_ahead.exposed + data_back.exposed; }
  Seconds forward() const { return std::max(copied, forward_compute + forward_exchanges); }
  Seconds backward() const
  {
    return std::max(copied, backward_compute + recompute + tensor + context + expert + data() -
                                forward_exchanges);
  }
};

PieceCost piece_cost(const StepSetting& setting, const Piece& piece, ExchangeTimes& exchanges);

/// Of activations between two stages, on one GPU: tensor-parallel ranks send a share each.
Bytes transfer_size(const StepSetting& setting);

} // namespace foretrain::models
