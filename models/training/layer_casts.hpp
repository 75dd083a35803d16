// Conversions between the layers of a network in half precision.
#pragma once

#include "models/networks/network.hpp"
#include "models/training/composed_operations.hpp"
#include "models/training/device.hpp"

#include <optional>

namespace foretrain::models {

/// What a framework keeps in single precision of a network in half precision (Autocast, or a
/// composed operation), and what follows up to the next product, which converts it back; each
/// conversion reads one width and writes the other, and backward undoes it, unless chains are
/// fused. Of positions softmax and normalisation; a trained factor is single already. The loss, a
/// softmax of what a linear layer made, is single in every framework (NVIDIA/apex, amp,
/// cast_model_outputs; gluon-nlp, run_pretraining.py), unless composed or fused or computed by the
/// model itself.
class LayerCasts {
public:
  explicit LayerCasts(const Device& device) : device_(device), half_(device.bytes_per_element == 2)
  {
  }

  /// The conversion before a layer of `elements`, each way; nothing where it takes what there is.
  Seconds before(const Layer& layer, const std::optional<ComposedOperation>& composed,
                 double elements);
  /// Of what it takes and of what it gives, beside half precision.
  double in() const { return in_; }
  double out() const { return out_; }

private:
  const Device& device_;
  bool half_;
  bool single_ = false;
  bool linear_ = false; // the layer before
  double in_ = 1, out_ = 1;
};

} // namespace foretrain::models
