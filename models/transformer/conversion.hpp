// How operands of fewer than 16 bits are made of activations and gradients.
#pragma once

#include "models/training/transformer_rules.hpp"
#include "models/transformer/operator.hpp"
#include "sim/cost/precision.hpp"

namespace foretrain::models {

/// What each operand of a product passes through, once: it is needed along rows in one pass and
/// along columns in the other. `element`: bytes of what is converted. Nothing where products take
/// 16 bits or more.
Conversion conversion_of(sim::Precision precision, Fp8Scaling scaling, double element);

} // namespace foretrain::models
