#include "models/transformer/hf_reader.hpp"

namespace foretrain::models::hf {

Json sizes(const Config& c, int heads)
{
  Json t = {{"layers", c.number("num_hidden_layers")},
            {"hidden", c.number("hidden_size")},
            {"heads", heads > 0 ? c.number_or("num_attention_heads", heads)
                                : c.number("num_attention_heads")}};
  if (c.has("vocab_size"))
    t["vocabulary"] = c.number("vocab_size");
  if (c.has("intermediate_size"))
    t["ffn"] = c.number("intermediate_size");
  return t;
}

Json gated_decoder(const Config& c, int heads)
{
  Json t = sizes(c, heads);
  t["kv_heads"] = c.number_or("num_key_value_heads", t["heads"].get<int>());
  if (c.has("head_dim"))
    t["head_size"] = c.number("head_dim");
  t["gated"] = true;
  t["tied"] = c.flag_or("tie_word_embeddings", false);
  return t;
}

void add_routed(const Config& c, Json& t)
{
  t["experts"] = c.number("n_routed_experts");
  t["top_k"] = c.number("num_experts_per_tok");
  t["expert_ffn"] = c.number("moe_intermediate_size");
  t["shared_experts"] = c.number_or("n_shared_experts", 0);
  t["dense_layers"] = c.number_or("first_k_dense_replace", 0);
  t["experts_every"] = c.number_or("moe_layer_freq", 1);
  if (c.number_or("n_group", 1) > 1) {
    t["routing_groups"] = c.number("n_group");
    t["routed_groups"] = c.number("topk_group");
  }
}

} // namespace foretrain::models::hf
