#include "models/training/autocast.hpp"

namespace foretrain::models {

Autocast autocast_of(bool framework, sim::Precision precision)
{
  if (!framework || !sim::sixteen_bits(precision))
    return Autocast::none;
  return precision == sim::Precision::fp16 ? Autocast::fp16 : Autocast::bf16;
}

SingleBytes in_single(Autocast autocast, std::string_view op)
{
  if (autocast == Autocast::fp16 && op == "softmax")
    return {0, 2, 4};
  return {kConvertedBytes, 4, 4};
}

} // namespace foretrain::models
