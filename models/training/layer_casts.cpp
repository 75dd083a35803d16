#include "models/training/layer_casts.hpp"

namespace foretrain::models {

namespace {

bool casts(const Layer& layer)
{
  return layer.kind == LayerKind::row_norm || layer.op == "softmax" || layer.op == "group_norm" ||
         layer.op == "scale";
}

} // namespace

Seconds LayerCasts::before(const Layer& layer, const std::optional<ComposedOperation>& composed,
                           double elements)
{
  const bool was = single_;
  const bool loss =
      linear_ && layer.op == "softmax" && !layer.half_loss && !device_.fused_elementwise;
  linear_ = layer.kind == LayerKind::linear;
  if (layer.gemm.count > 0)
    single_ = false;
  else if (composed)
    single_ = composed->single ? half_ : single_;
  else if (loss || (device_.autocast != Autocast::none && casts(layer)))
    single_ = half_;
  in_ = out_ = single_ ? 2 : 1;
  if (was == single_ || layer.op == "scale" || device_.fused_elementwise)
    return Seconds(0);
  double converted = kConvertedBytes;
  if (single_) {
    const SingleBytes single = in_single(device_.autocast, layer.op);
    converted = single.converted;
    in_ = single.in / 2;
    out_ = single.out / 2;
  }
  return converted > 0 ? device_.ordinary({Flops(0), Bytes(converted * elements)}) : Seconds(0);
}

} // namespace foretrain::models
