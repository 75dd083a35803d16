// Low-rank adapters (LoRA, arXiv:2106.09685): beside a frozen weight a product of two narrow ones
// is trained.
#pragma once

#include "sim/base/schema.hpp"

#include <algorithm>
#include <vector>

namespace foretrain::models {

/// Products that may have an adapter, by the words of NeMo and Megatron Bridge.
enum class AdapterTarget { linear_qkv, linear_proj, linear_fc1, linear_fc2 };
constexpr auto choices(AdapterTarget)
{
  return std::to_array<Choice<AdapterTarget>>({{AdapterTarget::linear_qkv, "linear_qkv"},
                                               {AdapterTarget::linear_proj, "linear_proj"},
                                               {AdapterTarget::linear_fc1, "linear_fc1"},
                                               {AdapterTarget::linear_fc2, "linear_fc2"}});
}

/// What frozen weights of layers are kept in: the precision of activations, fp8, or the four bits
/// of a normal distribution's quantiles (QLoRA, arXiv:2305.14314).
enum class FrozenWeights { compute, fp8, nf4 };
constexpr auto choices(FrozenWeights)
{
  return std::to_array<Choice<FrozenWeights>>({{FrozenWeights::compute, "compute"},
                                               {FrozenWeights::fp8, "fp8"},
                                               {FrozenWeights::nf4, "nf4"}});
}

/// A weight of four bits, with a scale of eight bits for 64 of them and one of 32 for 256 of these
/// (section 3, double quantisation).
inline constexpr double kNf4Bytes = (4 + 8 / 64.0 + 32 / (64.0 * 256)) / 8;

struct Adapters {
  int rank = 16;
  std::vector<AdapterTarget> targets{AdapterTarget::linear_qkv, AdapterTarget::linear_proj,
                                     AdapterTarget::linear_fc1, AdapterTarget::linear_fc2};
  FrozenWeights weights = FrozenWeights::compute;
  bool magnitudes = false; // DoRA
  bool dropout = false;    // of what goes into an adapter
  bool all_to_all = false; // among tensor-parallel ranks; else each gathers all of the result
  bool on(AdapterTarget target) const
  {
    return std::find(targets.begin(), targets.end(), target) != targets.end();
  }
};

template <class V>
void describe(V& v, Adapters& s)
{
  v.required("rank", s.rank, "width between the two products", between(1, 1e5));
  v.optional("targets", s.targets,
             "products that have one: of queries, keys and values (q_proj, k_proj, v_proj), after "
             "attention (o_proj), up (gate_proj, up_proj) and down; default all");
  v.optional(
      "weights", s.weights,
      "what frozen weights of layers are kept in: the precision of activations (compute), fp8, for "
      "products in fp8, or four bits that are made 16 before each product (nf4: QLoRA)");
  v.optional("magnitudes", s.magnitudes,
             "each output's magnitude is trained by itself, its direction by the adapter (DoRA)");
  v.optional("dropout", s.dropout, "part of what goes into an adapter is dropped while training");
  v.optional("all_to_all", s.all_to_all,
             "with sequence_parallel: tensor-parallel ranks turn the result of an adapter beside "
             "linear_proj and linear_fc2 from columns into tokens (NeMo's a2a_experimental); else "
             "each gathers all of it");
}

} // namespace foretrain::models
