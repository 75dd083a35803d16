// Parameters and arithmetic of a transformer, as papers count them.
#pragma once

#include "models/transformer/adapters.hpp"
#include "models/transformer/spec.hpp"
#include "sim/base/units.hpp"

namespace foretrain::models {

/// Trainable numbers of one layer, by how a parallel plan may cut them.
struct LayerParameters {
  double mixer = 0;   // products of the attention, with biases, or of what is in its place
  double dense = 0;   // products that every token goes through: feed-forward, router, shared
  double experts = 0; // all experts together
  double norms = 0;
  double total() const { return mixer + dense + experts + norms; }
};

LayerParameters layer_parameters(const Transformer& t, const LayerParts& parts);

/// Norms before a layer's parts.
int norms_of(const Transformer& t, const LayerParts& parts);

/// Those of a layer's adapters: rank x (inputs + outputs) of each product that has one.
LayerParameters adapter_parameters(const Transformer& t, const Adapters& adapters,
                                   const LayerParts& parts);

/// Of a module that predicts a further token, beside its layer: a product that makes one vector of
/// two, and three norms.
double prediction_parameters(const Transformer& t);

struct ParameterCount {
  double embedding = 0; // tokens, positions, types, patches
  double layers = 0;
  double output = 0; // zero when tied
  double final_norm = 0;
  double prediction = 0;       // of layers that predict further tokens
  double experts = 0;          // of all layers: those of experts
  double active_per_token = 0; // of all: that a token meets
  double total() const { return embedding + layers + output + final_norm + prediction; }
};
ParameterCount parameters(const Transformer& t);

enum class AttentionCount { full, causal };

/// FLOP of one token's forward pass in a sequence: two per multiply-accumulate of products and
/// attention, seven for each value of a state of Mamba's scan and eight of a delta rule's
/// (Megatron-LM, training.py, num_floating_point_operations), nothing else. `full` counts all pairs
/// of tokens, of a window's layers as many for each as the window (Megatron's formula, PaLM's MFU),
/// `causal` those that are needed: half, or the window.
/// `experts_take`: share of a token's choices that its experts take, as their capacity says.
Flops forward_flops_per_token(const Transformer& t, int sequence, AttentionCount count,
                              double experts_take = 1);

/// Forward and backward: three times that.
inline Flops training_flops_per_token(const Transformer& t, int sequence, AttentionCount count)
{
  return 3 * forward_flops_per_token(t, sequence, count);
}

/// Where adapters alone are trained, if there are any: gradients of frozen weights are left out.
Flops training_flops_per_token(const Transformer& t, const std::optional<Adapters>& adapters,
                               int sequence, AttentionCount count, double experts_take = 1);

/// Tokens that one token attends to, on average.
double attended(const Transformer& t, int sequence, AttentionCount count);

} // namespace foretrain::models
