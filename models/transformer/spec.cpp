#include "models/transformer/spec.hpp"

#include <tuple>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

// Each letter needs what it stands for, and says by itself which layers have it.
void check_pattern(const Value& at, const Transformer& t)
{
  if (static_cast<int>(t.pattern.size()) != t.layers)
    at.fail_at("pattern", fmt::format("has {} letters for {} layers", t.pattern.size(), t.layers));
  if (const auto other = t.pattern.find_first_not_of("MD*-E"); other != std::string::npos)
    at.fail_at("pattern",
               fmt::format("has '{}' for layer {}", t.pattern.substr(other, 1), other + 1),
               "M is Mamba, D a delta rule, * attention, - feed-forward, E experts");
  const auto has = [&](char letter) { return t.pattern.find(letter) != std::string::npos; };
  for (const auto& [letter, key, name, told] :
       {std::tuple{'M', "mamba", "Mamba (M)", t.mamba.has_value()},
        std::tuple{'D', "delta", "a delta rule (D)", t.delta.has_value()}}) {
    if (has(letter) && !told)
      at.fail_at("pattern", fmt::format("has layers of {}, and the model has no {}", name, key));
    if (told && !has(letter))
      at.fail_at(key, "is in no layer of the pattern", fmt::format("{} stands for it", letter));
  }
  if (has('E') != (t.experts > 0))
    at.fail_at("pattern", t.experts > 0
                              ? fmt::format("has no layer of the {} experts (E)", t.experts)
                              : "has layers of experts (E), and the model has none");
  for (const auto& [key, told] : {std::pair{"dense_layers", t.dense_layers > 0},
                                  std::pair{"experts_every", t.experts_every > 1},
                                  std::pair{"full_attention_every", t.full_attention_every > 0}})
    if (told)
      at.fail_at(key, "stands beside a pattern, which says what each layer has");
}

void check(const Value& at, const Transformer& t)
{
  if (!t.head_size && t.hidden % t.heads != 0)
    at.fail_at("heads",
               fmt::format("is {}, which does not divide the hidden size of {}", t.heads, t.hidden),
               "name a head_size if heads are not hidden / heads wide");
  if (t.heads % t.kv() != 0)
    at.fail_at("kv_heads", fmt::format("is {}, but must divide the {} heads", t.kv(), t.heads));
  if (t.vocabulary == 0 && t.patch_values == 0)
    at.fail_at("vocabulary", "is missing (or patch_values, for images)");
  if (t.experts > 0 && (t.top_k < 1 || t.top_k > t.experts))
    at.fail_at("top_k", fmt::format("is {}, but each token goes to 1 to {} of the experts", t.top_k,
                                    t.experts));
  if (t.mamba && !t.mamba->selective() && t.mamba->heads % t.mamba->groups != 0)
    at.at("mamba").fail_at("groups", fmt::format("is {}, but must divide the {} heads",
                                                 t.mamba->groups, t.mamba->heads));
  if (t.mamba && t.delta && t.pattern.empty())
    at.fail_at("delta", "stands beside mamba, and nothing says which layers have which",
               "a pattern with M and D");
  if (t.delta && t.delta->heads % t.delta->key_heads.value_or(t.delta->heads) != 0)
    at.at("delta").fail_at("key_heads", fmt::format("is {}, but must divide the {} heads",
                                                    *t.delta->key_heads, t.delta->heads));
  if (!t.pattern.empty())
    check_pattern(at, t);
  if (t.block != Block::sequential && (t.experts > 0 || !t.pattern.empty()))
    at.fail_at("block",
               fmt::format("is '{}', and layers have {}", word_of(t.block),
                           t.experts > 0 ? "experts" : "one part each (pattern)"),
               "leave it out: only dense layers of two parts are known with parallel ones");
  if (t.expert_hidden && t.experts == 0)
    at.fail_at("expert_hidden", "is what routed experts see, and the model has no experts");
  if (t.experts == 0 && (t.top_k > 0 || t.shared_experts > 0 || t.dense_layers > 0))
    at.fail("has top_k, shared_experts or dense_layers, but no experts");
  if (t.routing_groups > 0 && (t.experts == 0 || t.experts % t.routing_groups != 0))
    at.fail_at("routing_groups", fmt::format("is {}, which does not divide the {} experts",
                                             t.routing_groups, t.experts));
  if ((t.routing_groups > 0) != (t.routed_groups > 0) || t.routed_groups > t.routing_groups)
    at.fail_at("routed_groups",
               fmt::format("is {} of {} routing_groups", t.routed_groups, t.routing_groups));
  if (t.routing_groups > 0 && t.top_k > t.routed_groups * (t.experts / t.routing_groups))
    at.fail_at("top_k", fmt::format("is {}, but {} of {} groups of experts hold {}", t.top_k,
                                    t.routed_groups, t.routing_groups,
                                    t.routed_groups * (t.experts / t.routing_groups)));
  if (t.expert_ffn && t.experts == 0)
    at.fail_at("expert_ffn", "is of experts, and the model has none");
  if (t.full_attention_every > 0 && t.window == 0 && !t.scans())
    at.fail_at("full_attention_every",
               "tells which layers attend to everything, and all do: the model has no window, "
               "mamba or delta");
  if (t.rotary_scaled && !t.rotary)
    at.fail_at("rotary_scaled", "is of rotary positions, and the model has none");
  if (t.clamped && !t.gated)
    at.fail_at("clamped", "is of a gated activation, and the model has none");
  if (t.dense_layers > t.layers)
    at.fail_at("dense_layers", fmt::format("is {} of {} layers", t.dense_layers, t.layers));
  if (t.experts > 0 && t.pattern.empty() && t.dense_layers + t.experts_every > t.layers)
    at.fail_at(t.experts_every > 1 ? "experts_every" : "dense_layers",
               fmt::format("leaves none of the {} layers with experts", t.layers));
}

} // namespace

LayerParts Transformer::parts_of(int layer) const
{
  if (!pattern.empty())
    switch (pattern[static_cast<std::size_t>(layer)]) {
    case 'M':
      return {Mixer::mamba, FeedForward::none};
    case 'D':
      return {Mixer::delta, FeedForward::none};
    case '*':
      return {Mixer::attention, FeedForward::none};
    case 'E':
      return {Mixer::none, FeedForward::experts};
    default:
      return {Mixer::none, FeedForward::dense};
    }
  const bool turn = full_attention_every > 0 && (layer + 1) % full_attention_every == 0;
  const Mixer mixer = turn    ? Mixer::attention
                      : mamba ? Mixer::mamba
                      : delta ? Mixer::delta
                              : Mixer::attention;
  const bool routes =
      experts > 0 && layer >= dense_layers && (layer - dense_layers + 1) % experts_every == 0;
  return {mixer, routes ? FeedForward::experts : FeedForward::dense};
}

LayerRuns Transformer::runs(int first, int count) const
{
  LayerRuns runs;
  for (int layer = first; layer < first + count; ++layer)
    add(runs, parts_of(layer), 1);
  return runs;
}

bool is_transformer(const Value& preset)
{
  return preset.json().is_object() && preset.json().contains("transformer");
}

TransformerFile load_transformer(const Value& preset)
{
  auto file = read_as<TransformerFile>(preset);
  check(preset.at("transformer"), file.transformer);
  if (file.name.empty()) {
    const auto& path = preset.document()->path;
    file.name = path.empty() || !preset.pointer().empty() ? "transformer" : path.stem().string();
  }
  return file;
}

} // namespace foretrain::models
