#include "models/transformer/operator.hpp"

namespace foretrain::models {

Flops Operator::forward_flops() const
{
  if (kind == OperatorKind::product)
    return Flops(2 * product.count * product.m * product.n * product.k);
  if (kind == OperatorKind::attention)
    return Flops(share * 4 * attention.batch * attention.heads * attention.queries *
                 attention.keys * attention.head_size * (attention.causal ? 0.5 : 1));
  return Flops(0);
}

} // namespace foretrain::models
