// What one piece of a pipeline takes for one micro-batch.
#pragma once

#include "models/plans/step_setting.hpp"

namespace foretrain::models {

/// Exchanges are what is exposed of them.
struct PieceCost {
  int layers = 0;
  Seconds forward_compute;
  Seconds backward_compute;
  Seconds recompute; // in the backward pass
  Seconds tensor, context, expert, data;
  Seconds forward_exchanges; // of these, in the forward pass

  Seconds forward() const { return forward_compute + forward_exchanges; }
  Seconds backward() const
  {
    return backward_compute + recompute + tensor + context + expert + data - forward_exchanges;
  }
};

PieceCost piece_cost(const StepSetting& setting, const Piece& piece, ExchangeTimes& exchanges);

/// Of activations between two stages, on one GPU: tensor-parallel ranks send a share each.
Bytes transfer_size(const StepSetting& setting);

/// Which part of the work one GPU does.
OperatorShape operator_shape(const StepSetting& setting);

} // namespace foretrain::models
