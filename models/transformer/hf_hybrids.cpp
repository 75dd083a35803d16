#include "models/transformer/hf_hybrids.hpp"

#include <fmt/format.h>

namespace foretrain::models::hf {

namespace {

struct BlockType {
  const char* name;
  char letter;
};
constexpr BlockType kBlockTypes[] = {
    {"mamba", 'M'}, {"attention", '*'}, {"mlp", '-'}, {"moe", 'E'}};

char letter_of(const Value& block)
{
  for (const BlockType& type : kBlockTypes)
    if (block.json() == type.name)
      return type.letter;
  block.fail("must be mamba, attention, mlp or moe, got " + block.shown());
}

// A letter for each layer, or a list of words.
std::string layer_pattern(const Config& c)
{
  if (!c.text("hybrid_override_pattern").empty())
    return c.text("hybrid_override_pattern");
  std::string pattern;
  for (const Value& block : c.members("layers_block_type"))
    pattern += letter_of(block);
  return pattern;
}

} // namespace

// Positions are what the scan knows of them; config.json has keys of rotary ones that the code does
// not use.
Json nemotron_h(const Config& c)
{
  const std::string pattern = layer_pattern(c);
  Json t = {{"layers", pattern.size()},
            {"hidden", c.number("hidden_size")},
            {"heads", c.number("num_attention_heads")},
            {"kv_heads", c.number("num_key_value_heads")},
            {"vocabulary", c.number("vocab_size")},
            {"ffn", c.number("intermediate_size")},
            {"norm", "rms"},
            {"positions", 0},
            {"tied", c.flag_or("tie_word_embeddings", false)},
            {"bias", c.flag_or("mlp_bias", false)},
            {"qkv_bias", c.flag_or("attention_bias", false)},
            {"pattern", pattern}};
  for (const char* key : {"head_dim", "attention_head_dim"})
    if (c.has(key))
      t["head_size"] = c.number(key);
  if (pattern.find('M') != std::string::npos)
    t["mamba"] = {{"heads", c.number("mamba_num_heads")},
                  {"head_size", c.number_or("mamba_head_dim", 64)},
                  {"state", c.number("ssm_state_size")},
                  {"groups", c.number_or("n_groups", 8)},
                  {"convolution", c.number_or("conv_kernel", 4)},
                  {"chunk", c.number_or("chunk_size", 128)}};
  if (pattern.find('E') != std::string::npos) {
    t["experts"] = c.number("n_routed_experts");
    t["top_k"] = c.number("num_experts_per_tok");
    t["expert_ffn"] = c.number("moe_intermediate_size");
    if (c.has("moe_latent_size"))
      t["expert_hidden"] = c.number("moe_latent_size");
    if (c.has("moe_shared_expert_intermediate_size"))
      t["shared_experts"] =
          c.number("moe_shared_expert_intermediate_size") / c.number("moe_intermediate_size");
  }
  return t;
}

Json mamba(const Config& c)
{
  const int layers = c.number("num_hidden_layers");
  const int hidden = c.number("hidden_size");
  return {{"layers", layers},
          {"hidden", hidden},
          {"heads", 1}, // of no attention
          {"head_size", 1},
          {"vocabulary", c.number("vocab_size")},
          {"norm", "rms"},
          {"positions", 0},
          {"tied", c.flag_or("tie_word_embeddings", true)},
          {"pattern", std::string(static_cast<std::size_t>(layers), 'M')},
          {"mamba",
           {{"heads", c.number_or("intermediate_size", 2 * hidden)},
            {"head_size", 1},
            {"state", c.number_or("state_size", 16)},
            {"convolution", c.number_or("conv_kernel", 4)},
            {"step_rank", c.number_or("time_step_rank", (hidden + 15) / 16)}}}};
}

Json jamba(const Config& c)
{
  Json t = gated_decoder(c);
  const int hidden = c.number("hidden_size");
  t["positions"] = 0;
  t["full_attention_every"] = c.number("attn_layer_period");
  if (c.number_or("num_experts", 1) > 1) {
    t["experts"] = c.number("num_experts");
    t["top_k"] = c.number("num_experts_per_tok");
    t["experts_every"] = c.number_or("expert_layer_period", 2);
  }
  t["mamba"] = {{"heads", c.number_or("mamba_expand", 2) * hidden},
                {"head_size", 1},
                {"state", c.number_or("mamba_d_state", 16)},
                {"convolution", c.number_or("mamba_d_conv", 4)},
                {"step_rank", c.number_or("mamba_dt_rank", (hidden + 15) / 16)}};
  return t;
}

// Where no list says otherwise the last of each turn attends, and every layer has experts.
Json qwen3_next(const Config& c)
{
  Json t = gated_decoder(c);
  t["rotary"] = true;
  t["qkv_bias"] = c.flag_or("attention_bias", false);
  t["query_norm"] = true;
  t["attention_gate"] = true;
  t["full_attention_every"] = c.number_or("full_attention_interval", 4);
  t["delta"] = {{"heads", c.number("linear_num_value_heads")},
                {"key_heads", c.number("linear_num_key_heads")},
                {"head_size", c.number("linear_value_head_dim")},
                {"key_size", c.number("linear_key_head_dim")},
                {"convolution", c.number_or("linear_conv_kernel_dim", 4)}};
  if (c.number_or("num_experts", 0) > 0) {
    t["experts"] = c.number("num_experts");
    t["top_k"] = c.number("num_experts_per_tok");
    t["expert_ffn"] = c.number("moe_intermediate_size");
    t["shared_experts"] =
        c.number("shared_expert_intermediate_size") / c.number("moe_intermediate_size");
    t["experts_every"] = c.number_or("decoder_sparse_step", 1);
  }
  return t;
}

Json kimi_linear(const Config& c)
{
  Json t = sizes(c);
  t["head_size"] = c.number_or("qk_nope_head_dim", 128);
  t["gated"] = true;
  t["positions"] = 0;
  t["tied"] = c.flag_or("tie_word_embeddings", false);
  t["latent"] = {{"query_rank", c.number_or("q_lora_rank", 0)},
                 {"kv_rank", c.number("kv_lora_rank")},
                 {"rotary_size", c.number("qk_rope_head_dim")},
                 {"value_size", c.number("v_head_dim")}};
  t["experts"] = c.number("num_experts");
  t["top_k"] = c.number("num_experts_per_token");
  t["expert_ffn"] = c.number("moe_intermediate_size");
  t["shared_experts"] = c.number_or("num_shared_experts", 0);
  t["dense_layers"] = c.number_or("first_k_dense_replace", 0);
  t["experts_every"] = c.number_or("moe_layer_freq", 1);
  const Config linear = c.inside("linear_attn_config");
  const auto full = linear.members("full_attn_layers");
  if (full.empty() || !full.front().json().is_number_integer())
    linear.fail("full_attn_layers", "must be a list of numbers of layers");
  t["full_attention_every"] = full.front().json();
  const int size = linear.number("head_dim");
  t["delta"] = {{"heads", linear.number("num_heads")},
                {"head_size", size},
                {"convolution", linear.number_or("short_conv_kernel_size", 4)},
                {"gate_rank", size}};
  return t;
}

} // namespace foretrain::models::hf
