// Parts of a layer that a backward pass may make anew by themselves.
#pragma once

#include "sim/base/choice.hpp"

#include <algorithm>
#include <vector>

namespace foretrain::models {

/// By the words of Megatron-Core's --recompute-modules.
enum class LayerModule { core_attn, layernorm, mla_up_proj, mlp, moe, moe_act, shared_experts };
constexpr auto choices(LayerModule)
{
  return std::to_array<Choice<LayerModule>>({{LayerModule::core_attn, "core_attn"},
                                             {LayerModule::layernorm, "layernorm"},
                                             {LayerModule::mla_up_proj, "mla_up_proj"},
                                             {LayerModule::mlp, "mlp"},
                                             {LayerModule::moe, "moe"},
                                             {LayerModule::moe_act, "moe_act"},
                                             {LayerModule::shared_experts, "shared_experts"}});
}

/// Whether a module is among these, or within one of them: the whole layer of experts holds their
/// activation and the shared experts.
inline bool among(const std::vector<LayerModule>& modules, LayerModule module)
{
  const auto has = [&](LayerModule m) {
    return std::find(modules.begin(), modules.end(), m) != modules.end();
  };
  const bool of_experts = module == LayerModule::moe_act || module == LayerModule::shared_experts;
  return has(module) || (of_experts && has(LayerModule::moe));
}

} // namespace foretrain::models
