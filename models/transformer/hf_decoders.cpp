#include "models/transformer/hf_decoders.hpp"

#include "sim/base/text.hpp"

namespace foretrain::models::hf {

namespace {

// Heads of keys and values (MPT's attn_type); 0: as many as there are of queries.
int mpt_kv_heads(const Config& c)
{
  if (!c.has("attn_config"))
    return 0;
  const Config attention = c.inside("attn_config");
  const std::string type = attention.text("attn_type");
  if (type == "multiquery_attention")
    return 1;
  if (type == "grouped_query_attention")
    return attention.number("kv_n_heads");
  if (!type.empty() && type != "multihead_attention")
    attention.fail("attn_type", "must be one of multihead_attention, multiquery_attention, "
                                "grouped_query_attention; got '" +
                                    excerpt(type) + "'");
  return 0;
}

} // namespace

Json gpt2(const Config& c)
{
  Json t = {{"layers", c.number("n_layer")},
            {"hidden", c.number("n_embd")},
            {"heads", c.number("n_head")},
            {"vocabulary", c.number("vocab_size")},
            {"positions", c.number_or("n_positions", 1024)},
            {"tied", true}};
  if (c.has("n_inner"))
    t["ffn"] = c.number("n_inner");
  return t;
}

Json gpt_neox(const Config& c)
{
  Json t = sizes(c);
  t["rotary"] = true;
  t["tied"] = c.flag_or("tie_word_embeddings", false);
  if (c.flag_or("use_parallel_residual", true))
    t["block"] = "parallel";
  return t;
}

Json gpt_j(const Config& c)
{
  return {{"layers", c.number("n_layer")},
          {"hidden", c.number("n_embd")},
          {"heads", c.number("n_head")},
          {"ffn", c.number_or("n_inner", 4 * c.number("n_embd"))},
          {"vocabulary", c.number("vocab_size")},
          {"rotary", true},
          {"tied", c.flag_or("tie_word_embeddings", false)},
          {"qkv_bias", false},
          {"block", "parallel-one-norm"}};
}

Json phi(const Config& c)
{
  Json t = sizes(c);
  t["kv_heads"] = c.number_or("num_key_value_heads", c.number("num_attention_heads"));
  t["rotary"] = true;
  t["tied"] = c.flag_or("tie_word_embeddings", false);
  t["block"] = "parallel-one-norm";
  return t;
}

Json falcon(const Config& c)
{
  Json t = sizes(c);
  t.erase("ffn");
  if (c.has("ffn_hidden_size"))
    t["ffn"] = c.number("ffn_hidden_size");
  const bool grouped = c.flag_or("new_decoder_architecture", false);
  t["kv_heads"] = grouped                          ? c.number("num_kv_heads")
                  : c.flag_or("multi_query", true) ? 1
                                                   : c.number("num_attention_heads");
  t["rotary"] = !c.flag_or("alibi", false);
  if (c.flag_or("alibi", false))
    t["positions"] = 0;
  t["bias"] = c.flag_or("bias", false);
  // Two norms where the architecture is the newer one, unless it is told otherwise.
  if (grouped || c.flag_or("parallel_attn", true))
    t["block"] = c.number_or("num_ln_in_parallel_attn", grouped ? 2 : 1) == 2 ? "parallel"
                                                                              : "parallel-one-norm";
  return t;
}

Json mpt(const Config& c)
{
  const bool slopes = !c.has("attn_config") || c.inside("attn_config").flag_or("alibi", true);
  const bool bias = !c.flag_or("no_bias", true);
  Json t = {{"layers", c.number("n_layers")},
            {"hidden", c.number("d_model")},
            {"heads", c.number("n_heads")},
            {"ffn", c.number("d_model") * c.number_or("expansion_ratio", 4)},
            {"vocabulary", c.number("vocab_size")},
            {"positions", slopes ? 0 : c.number_or("max_seq_len", 2048)},
            {"norm", bias ? "layer" : "rms"},
            {"bias", bias},
            {"tied", true}};
  if (const int heads = mpt_kv_heads(c); heads > 0)
    t["kv_heads"] = heads;
  return t;
}

Json opt(const Config& c)
{
  Json t = sizes(c);
  if (c.number_or("word_embed_proj_dim", c.number("hidden_size")) != c.number("hidden_size"))
    c.fail("word_embed_proj_dim", "must be hidden_size: embeddings narrower than the layers are "
                                  "not known here");
  t["ffn"] = c.number("ffn_dim");
  t["positions"] = c.number_or("max_position_embeddings", 2048) + kPadding;
  t["bias"] = c.flag_or("enable_bias", true);
  t["tied"] = c.flag_or("tie_word_embeddings", true);
  return t;
}

Json bloom(const Config& c)
{
  const int hidden = c.number(c.has("n_embed") ? "n_embed" : "hidden_size");
  return {{"layers", c.number(c.has("n_layer") ? "n_layer" : "num_hidden_layers")},
          {"hidden", hidden},
          {"heads", c.number(c.has("n_head") ? "n_head" : "num_attention_heads")},
          {"ffn", 4 * hidden},
          {"vocabulary", c.number("vocab_size")},
          {"positions", 0},
          {"tied", true}};
}

Json gpt_bigcode(const Config& c)
{
  Json t = gpt2(c);
  if (c.flag_or("multi_query", true))
    t["kv_heads"] = 1;
  return t;
}

Json starcoder2(const Config& c)
{
  Json t = sizes(c);
  t["kv_heads"] = c.number_or("num_key_value_heads", 2);
  t["rotary"] = true;
  t["bias"] = c.flag_or("use_bias", true);
  t["tied"] = c.flag_or("tie_word_embeddings", true);
  if (c.has("sliding_window"))
    t["window"] = c.number("sliding_window");
  return t;
}

} // namespace foretrain::models::hf
