#include "models/transformer/transformer_table.hpp"

#include "models/networks/network.hpp"

#include <vector>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

std::vector<TransformerFile> preset_transformers()
{
  std::vector<TransformerFile> files;
  for (const std::string& name : preset_names(kNetworkKind))
    if (const Value preset = resolve_preset(name, kNetworkKind); is_transformer(preset))
      files.push_back(load_transformer(preset));
  return files;
}

Json dimensions(const Transformer& t)
{
  Json json = {{"layers", t.layers},    {"hidden", t.hidden},
               {"heads", t.heads},      {"kv_heads", t.kv()},
               {"head_size", t.head()}, {"ffn", t.inner()},
               {"gated", t.gated},      {"vocabulary", t.vocabulary},
               {"tied", t.is_tied()},   {"norm", t.rms() ? "rms" : "layer"},
               {"rotary", t.rotary},    {"experts", t.experts}};
  if (t.experts > 0) {
    json["top_k"] = t.top_k;
    json["expert_ffn"] = t.expert_inner();
    json["shared_experts"] = t.shared_experts;
    json["dense_layers"] = t.dense_layers;
    json["expert_hidden"] = t.routed_hidden();
    if (t.routing_groups > 0) {
      json["routing_groups"] = t.routing_groups;
      json["routed_groups"] = t.routed_groups;
    }
  }
  if (!t.pattern.empty())
    json["pattern"] = t.pattern;
  if (t.mamba)
    json["mamba"] = {{"heads", t.mamba->heads},
                     {"head_size", t.mamba->head_size},
                     {"state", t.mamba->state},
                     {"groups", t.mamba->groups},
                     {"convolution", t.mamba->convolution},
                     {"chunk", t.mamba->chunk},
                     {"step_rank", t.mamba->step_rank}};
  if (t.delta)
    json["delta"] = {{"heads", t.delta->heads},
                     {"key_heads", t.delta->key_heads.value_or(t.delta->heads)},
                     {"head_size", t.delta->head_size},
                     {"key_size", t.delta->key()},
                     {"convolution", t.delta->convolution},
                     {"chunk", t.delta->chunk},
                     {"gate_rank", t.delta->gate_rank}};
  if (t.window > 0)
    json["window"] = t.window;
  if (t.full_attention_every > 0)
    json["full_attention_every"] = t.full_attention_every;
  if (t.block != Block::sequential)
    json["block"] = word_of(t.block);
  if (t.attention_gate)
    json["attention_gate"] = true;
  if (t.latent)
    json["latent"] = {{"query_rank", t.latent->query_rank},
                      {"kv_rank", t.latent->kv_rank},
                      {"rotary_size", t.latent->rotary_size}};
  return json;
}

} // namespace

std::string transformer_list_text()
{
  std::string text = fmt::format("{:<22}  {:>7}  {:>7}  {:>6}  {:>8}  {:>8}  {:>13}  {:>16}\n",
                                 "transformer", "layers", "hidden", "heads", "kv_heads", "experts",
                                 "parameters G", "active/token G");
  for (const TransformerFile& file : preset_transformers()) {
    const Transformer& t = file.transformer;
    const ParameterCount count = parameters(t);
    text += fmt::format("{:<22}  {:>7}  {:>7}  {:>6}  {:>8}  {:>8}  {:>13.3f}  {:>16.3f}\n",
                        file.name, t.layers, t.hidden, t.heads, t.kv(), t.experts,
                        count.total() / 1e9, count.active_per_token / 1e9);
  }
  return text;
}

Json transformer_list_json()
{
  Json list = Json::array();
  for (const TransformerFile& file : preset_transformers())
    list.push_back(transformer_json(file));
  return list;
}

std::string transformer_text(const TransformerFile& file)
{
  const Transformer& t = file.transformer;
  const ParameterCount count = parameters(t);
  std::string text =
      fmt::format("{}: a transformer, {} tokens a sample\n\n", file.name, file.sequence);
  const Json told = dimensions(t);
  for (const auto& [key, value] : told.items())
    text += fmt::format("  {:<18} {}\n", key, value.dump());
  const auto gflop = [&](AttentionCount attention) {
    return training_flops_per_token(t, file.sequence, attention).value() / 1e9;
  };
  text += fmt::format("\n  parameters         {:.0f}\n"
                      "  active per token   {:.0f}\n"
                      "  training           {:.3f} GFLOP a token with all pairs, {:.3f} causal\n",
                      count.total(), count.active_per_token, gflop(AttentionCount::full),
                      gflop(AttentionCount::causal));
  return text;
}

Json transformer_json(const TransformerFile& file)
{
  const Transformer& t = file.transformer;
  const ParameterCount count = parameters(t);
  return {{"name", file.name},
          {"sequence", file.sequence},
          {"transformer", dimensions(t)},
          {"totals",
           {{"parameters", count.total()},
            {"active_per_token", count.active_per_token},
            {"training_flops_per_token",
             {{"full", training_flops_per_token(t, file.sequence, AttentionCount::full).value()},
              {"causal",
               training_flops_per_token(t, file.sequence, AttentionCount::causal).value()}}}}}};
}

} // namespace foretrain::models
