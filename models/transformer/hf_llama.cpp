#include "models/transformer/hf_llama.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace foretrain::models::hf {

namespace {

// Every which layer attends to everything, where each layer's kind is told; 0: none does.
int told_full_attention_every(const Config& c)
{
  const std::vector<Value> kinds = c.members("layer_types");
  const auto full = [](const Value& kind) { return kind.json() == "full_attention"; };
  const auto first = std::ranges::find_if(kinds, full);
  if (first == kinds.end())
    return 0;
  const auto every = first - kinds.begin() + 1;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (full(kinds[i]) != (static_cast<std::ptrdiff_t>(i + 1) % every == 0))
      kinds[i].fail(fmt::format("is {}, and the first layer that attends to everything is number "
                                "{}: other distances than every {} are not known here",
                                kinds[i].shown(), every, every));
  return static_cast<int>(every);
}

// Of layers with a window: how often one attends to everything; 0: never.
int full_attention_every(const Config& c, const std::string& type)
{
  if (c.has("layer_types"))
    return told_full_attention_every(c);
  if (c.has("sliding_window_pattern"))
    return c.number("sliding_window_pattern");
  if (type == "gpt_oss" || type == "gemma2")
    return 2;
  return type == "olmo3" ? 4 : type == "gemma3_text" ? 6 : 0;
}

// Whether layers have a window: of Qwen's, which has to be asked for, those from max_window_layers
// on.
bool has_window(const Config& c, const std::string& type)
{
  const bool qwen = type.starts_with("qwen");
  if (!c.has("sliding_window") || !c.flag_or("use_sliding_window", !qwen))
    return false;
  const int without = qwen ? c.number_or("max_window_layers", 28) : 0;
  if (without > 0 && without < c.number("num_hidden_layers"))
    c.fail("max_window_layers", "must be 0 or num_hidden_layers: first layers without the window "
                                "of others are not known here");
  return without == 0;
}

// The first layers, which have no experts (mlp_only_layers).
int layers_without_experts(const Config& c)
{
  if (!c.has("mlp_only_layers"))
    return 0;
  int layers = 0;
  for (const Value& layer : c.members("mlp_only_layers"))
    if (layer.json() != layers++)
      layer.fail("must be the first layers in order: others without experts are not known here");
  return layers;
}

// Attention to all tokens, to those before, or to those of the same chunk (of which no more than
// full attention's is known).
void check_layer_types(const Config& c)
{
  if (!c.has("layer_types"))
    return;
  const std::vector<Value> kinds = c.members("layer_types");
  const int layers = c.number("num_hidden_layers");
  if (static_cast<int>(kinds.size()) != layers)
    c.fail("layer_types", fmt::format("tells the kinds of {} layers, num_hidden_layers is {}",
                                      kinds.size(), layers));
  for (const Value& kind : kinds)
    if (kind.json() != "full_attention" && kind.json() != "sliding_attention" &&
        kind.json() != "chunked_attention")
      kind.fail("must be one of full_attention, sliding_attention, chunked_attention; got " +
                kind.shown());
}

} // namespace

Json llama_like(const Config& c)
{
  const std::string type = c.text("model_type");
  const bool mixtral = type == "mixtral"; // MixtralConfig's: 8 experts, 2 of a token
  check_layer_types(c);
  const bool gemma3 = type == "gemma3_text"; // whose files leave out what Gemma3TextConfig has
  Json t = gated_decoder(c, gemma3 ? 8 : 0);
  if (type == "mistral" || mixtral) // MistralConfig's and MixtralConfig's
    t["kv_heads"] = c.number_or("num_key_value_heads", 8);
  if (gemma3) {
    t["kv_heads"] = c.number_or("num_key_value_heads", 4);
    t["vocabulary"] = c.number_or("vocab_size", 262208);
  }
  if (!c.has("head_dim") && (type.starts_with("gemma") || type == "qwen3"))
    t["head_size"] = type == "qwen3" ? 128 : 256; // GemmaConfig's, Qwen3Config's
  t["rotary"] = true;
  t["tied"] = c.flag_or("tie_word_embeddings", type.starts_with("gemma") || type == "smollm3");
  if (c.flag_or("attention_bias", type == "qwen2" || type == "qwen2_moe"))
    t["qkv_bias"] = true;
  const bool always = type.starts_with("qwen3") || type == "gemma3_text" ||
                      (type.starts_with("olmo") && type != "olmo") || type == "dots1";
  if (c.flag_or("use_qk_norm", always))
    t["query_norm"] = true;
  if (has_window(c, type)) {
    t["window"] = c.number("sliding_window");
    if (const int every = full_attention_every(c, type); every > 0)
      t["full_attention_every"] = every;
  }
  for (const char* key : {"num_local_experts", "num_experts"})
    if (c.has(key) || (mixtral && std::string_view(key) == "num_local_experts")) {
      t["experts"] = c.number_or(key, 8);
      t["top_k"] =
          mixtral ? c.number_or("num_experts_per_tok", 2) : c.number("num_experts_per_tok");
      if (c.has("moe_intermediate_size"))
        t["expert_ffn"] = c.number("moe_intermediate_size");
      t["dense_layers"] = layers_without_experts(c);
      t["experts_every"] = c.number_or("decoder_sparse_step", 1);
    }
  if (c.has("shared_expert_intermediate_size") && c.has("moe_intermediate_size"))
    t["shared_experts"] =
        c.number("shared_expert_intermediate_size") / c.number("moe_intermediate_size");
  return t;
}

Json stablelm(const Config& c)
{
  Json t = gated_decoder(c);
  t["rotary"] = true;
  t["norm"] = "layer";
  t["bias"] = false;
  t["qkv_bias"] = c.flag_or("use_qkv_bias", false);
  t["query_norm"] = c.flag_or("qk_layernorm", false);
  if (c.flag_or("use_parallel_residual", false))
    t["block"] = "parallel-one-norm";
  return t;
}

Json gpt_oss(const Config& c)
{
  Json t = llama_like(c);
  t["norm"] = "rms";
  t["bias"] = true;
  if (c.has("swiglu_limit"))
    t["clamped"] = true;
  if (c.has("rope_scaling"))
    t["rotary_scaled"] = true; // YaRN
  return t;
}

Json llama4(const Config& c)
{
  Json t = llama_like(c);
  t["expert_ffn"] = c.number("intermediate_size");
  t["ffn"] = c.number("intermediate_size_mlp");
  t["shared_experts"] = 1;
  t["experts_every"] = c.number_or("interleave_moe_layer_step", 1);
  return t;
}

Json routed_llama(const Config& c)
{
  Json t = llama_like(c);
  add_routed(c, t);
  return t;
}

Json deepseek(const Config& c)
{
  Json t = llama_like(c);
  t.erase("kv_heads");
  t["head_size"] = c.number("qk_nope_head_dim");
  add_routed(c, t);
  t["latent"] = {{"query_rank", c.number_or("q_lora_rank", 0)},
                 {"kv_rank", c.number("kv_lora_rank")},
                 {"rotary_size", c.number("qk_rope_head_dim")},
                 {"value_size", c.number("v_head_dim")}};
  return t;
}

Json cohere(const Config& c)
{
  Json t = llama_like(c);
  t["tied"] = c.flag_or("tie_word_embeddings", true);
  t["query_norm"] = c.flag_or("use_qk_norm", false);
  t["block"] = "parallel-one-norm";
  return t;
}

} // namespace foretrain::models::hf
