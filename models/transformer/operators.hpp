// The operators that one GPU runs for a layer of a transformer, and for what stands at its ends.
#pragma once

#include "models/transformer/operator.hpp"

namespace foretrain::models {

/// Of one layer.
std::vector<Operator> layer_operators(const Transformer& t, const OperatorShape& shape,
                                      const LayerParts& parts);
/// Of the first stage: lookup.
std::vector<Operator> embedding_operators(const Transformer& t, const OperatorShape& shape);
/// Of the last stage: final norm, logits, cross entropy.
std::vector<Operator> output_operators(const Transformer& t, const OperatorShape& shape);
/// What a module of multi-token prediction does before its layer: norms of the hidden state and of
/// the next token's embedding, and the product that makes one of both (DeepSeek-V3,
/// arXiv:2412.19437, equation 21).
std::vector<Operator> prediction_operators(const Transformer& t, const OperatorShape& shape);

} // namespace foretrain::models
