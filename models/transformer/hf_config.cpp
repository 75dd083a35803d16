#include "models/transformer/hf_config.hpp"

#include "sim/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

// Tokens of a sample in pre-training, where positions allow more (Llama 3: arXiv:2407.21783).
constexpr int kUsualSequence = 8192;

class Config {
public:
  explicit Config(const Value& config) : at_(config) {}

  bool has(const std::string& key) const
  {
    return at_.json().contains(key) && !at_.json().at(key).is_null();
  }
  int number(const std::string& key) const
  {
    if (!has(key))
      at_.fail_at(key, "is missing");
    const Value value = at_.at(key);
    if (!value.json().is_number_integer())
      value.fail("must be a whole number, got " + value.shown());
    return value.json().get<int>();
  }
  int number_or(const std::string& key, int otherwise) const
  {
    return has(key) ? number(key) : otherwise;
  }
  bool flag_or(const std::string& key, bool otherwise) const
  {
    return has(key) && at_.json().at(key).is_boolean() ? at_.json().at(key).get<bool>() : otherwise;
  }
  /// Each a member of a list. Throws ConfigError where there is none.
  std::vector<Value> members(const std::string& key) const
  {
    if (!has(key))
      at_.fail_at(key, "is missing");
    const Value list = at_.at(key);
    if (!list.json().is_array())
      list.fail("must be a list, got " + list.shown());
    std::vector<Value> members;
    for (std::size_t i = 0; i < list.json().size(); ++i)
      members.push_back(list.at(i));
    return members;
  }
  std::string text(const std::string& key) const
  {
    return has(key) && at_.json().at(key).is_string() ? at_.json().at(key).get<std::string>() : "";
  }

private:
  const Value& at_;
};

Json sizes(const Config& c)
{
  Json t = {{"layers", c.number("num_hidden_layers")},
            {"hidden", c.number("hidden_size")},
            {"heads", c.number("num_attention_heads")}};
  if (c.has("vocab_size"))
    t["vocabulary"] = c.number("vocab_size");
  if (c.has("intermediate_size"))
    t["ffn"] = c.number("intermediate_size");
  return t;
}

// Of layers with a window: how often one attends to everything; 0: never.
int full_attention_every(const Config& c, const std::string& type)
{
  if (c.has("sliding_window_pattern"))
    return c.number("sliding_window_pattern");
  return type == "gpt_oss" || type == "gemma2" ? 2 : type == "gemma3_text" ? 6 : 0;
}

// Llama, Mistral, Mixtral, Qwen 2 and 3, Gemma, OLMo 2, GPT-OSS, and what is built like them.
Json llama_like(const Config& c)
{
  const std::string type = c.text("model_type");
  Json t = sizes(c);
  t["kv_heads"] = c.number_or("num_key_value_heads", c.number("num_attention_heads"));
  if (c.has("head_dim"))
    t["head_size"] = c.number("head_dim");
  t["gated"] = true;
  t["rotary"] = true;
  t["tied"] = c.flag_or("tie_word_embeddings", type.starts_with("gemma"));
  if (c.flag_or("attention_bias", type == "qwen2" || type == "qwen2_moe"))
    t["qkv_bias"] = true;
  if (type.starts_with("qwen3") || type == "gemma3_text" || type == "olmo2")
    t["query_norm"] = true;
  if (c.has("sliding_window") && c.flag_or("use_sliding_window", true)) {
    t["window"] = c.number("sliding_window");
    if (const int every = full_attention_every(c, type); every > 0)
      t["full_attention_every"] = every;
  }
  for (const char* key : {"num_local_experts", "num_experts"})
    if (c.has(key)) {
      t["experts"] = c.number(key);
      t["top_k"] = c.number("num_experts_per_tok");
      if (c.has("moe_intermediate_size"))
        t["expert_ffn"] = c.number("moe_intermediate_size");
    }
  if (c.has("shared_expert_intermediate_size") && c.has("moe_intermediate_size"))
    t["shared_experts"] =
        c.number("shared_expert_intermediate_size") / c.number("moe_intermediate_size");
  return t;
}

Json gpt_oss(const Config& c)
{
  Json t = llama_like(c);
  t["norm"] = "rms";
  t["bias"] = true;
  return t;
}

// Layers of experts beside a shared one take turns with wider dense ones (Maverick), or not
// (Scout).
Json llama4(const Config& c)
{
  Json t = llama_like(c);
  t["expert_ffn"] = c.number("intermediate_size");
  t["ffn"] = c.number("intermediate_size_mlp");
  t["shared_experts"] = 1;
  t["experts_every"] = c.number_or("interleave_moe_layer_step", 1);
  return t;
}

void routed(const Config& c, Json& t)
{
  t["experts"] = c.number("n_routed_experts");
  t["top_k"] = c.number("num_experts_per_tok");
  t["expert_ffn"] = c.number("moe_intermediate_size");
  t["shared_experts"] = c.number_or("n_shared_experts", 0);
  t["dense_layers"] = c.number_or("first_k_dense_replace", 0);
  if (c.number_or("n_group", 1) > 1) {
    t["routing_groups"] = c.number("n_group");
    t["routed_groups"] = c.number("topk_group");
  }
}

Json glm4_moe(const Config& c)
{
  Json t = llama_like(c);
  routed(c, t);
  t["query_norm"] = c.flag_or("use_qk_norm", false);
  return t;
}

Json deepseek(const Config& c)
{
  Json t = llama_like(c);
  t.erase("kv_heads");
  t["head_size"] = c.number("qk_nope_head_dim");
  routed(c, t);
  t["latent"] = {{"query_rank", c.number_or("q_lora_rank", 0)},
                 {"kv_rank", c.number("kv_lora_rank")},
                 {"rotary_size", c.number("qk_rope_head_dim")},
                 {"value_size", c.number("v_head_dim")}};
  return t;
}

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

// Nemotron-H and Nemotron 3: layers with one part each. Positions are what the scan knows of them;
// config.json has keys of rotary ones that the code does not use.
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
  return t;
}

Json mpt(const Config& c)
{
  return {{"layers", c.number("n_layers")},
          {"hidden", c.number("d_model")},
          {"heads", c.number("n_heads")},
          {"ffn", c.number("d_model") * c.number_or("expansion_ratio", 4)},
          {"vocabulary", c.number("vocab_size")},
          {"positions", c.number_or("max_seq_len", 2048)},
          {"bias", !c.flag_or("no_bias", true)},
          {"tied", true}};
}

Json bert(const Config& c)
{
  Json t = sizes(c);
  t["positions"] = c.number_or("max_position_embeddings", 512);
  t["token_types"] = c.number_or("type_vocab_size", 2);
  t["encoder"] = true;
  t["pooler"] = true;
  t["prediction_head"] = true;
  t["tied"] = true;
  return t;
}

Json vit(const Config& c)
{
  Json t = sizes(c);
  const int patch = c.number_or("patch_size", 16);
  const int side = c.number_or("image_size", 224) / std::max(1, patch);
  t["positions"] = side * side + 1;
  t["patch_values"] = patch * patch * c.number_or("num_channels", 3);
  t["classes"] = 1000;
  t["encoder"] = true;
  t["tied"] = true;
  return t;
}

struct ModelType {
  const char* name;
  Json (*read)(const Config&);
};
constexpr ModelType kTypes[] = {
    {"llama", &llama_like},
    {"mistral", &llama_like},
    {"mixtral", &llama_like},
    {"qwen2", &llama_like},
    {"qwen2_moe", &llama_like},
    {"qwen3", &llama_like},
    {"qwen3_moe", &llama_like},
    {"gemma", &llama_like},
    {"gemma2", &llama_like},
    {"gemma3_text", &llama_like},
    {"phi3", &llama_like},
    {"olmo2", &llama_like},
    {"gpt_oss", &gpt_oss},
    {"llama4_text", &llama4},
    {"glm4_moe", &glm4_moe},
    {"nemotron_h", &nemotron_h},
    {"kimi_k2", &deepseek},
    {"deepseek_v2", &deepseek},
    {"deepseek_v3", &deepseek},
    {"gpt2", &gpt2},
    {"gpt_neox", &gpt_neox},
    {"falcon", &falcon},
    {"mpt", &mpt},
    {"bert", &bert},
    {"vit", &vit},
};

// Kinds that hold what is not computed here.
struct Refused {
  const char* name;
  const char* what;
};
constexpr const char* kMamba = "layers of a selective scan (Mamba-1)";
constexpr const char* kDelta = "layers of linear attention (gated delta net)";
constexpr const char* kVision = "a vision encoder before its language model";
constexpr Refused kRefused[] = {
    {"jamba", kMamba},       {"mamba", kMamba},         {"qwen3_next", kDelta},
    {"kimi_linear", kDelta}, {"qwen2_vl", kVision},     {"qwen2_5_vl", kVision},
    {"qwen3_vl", kVision},   {"qwen3_vl_moe", kVision},
};

void refuse(const Value& config, const std::string& type)
{
  for (const Refused& kind : kRefused)
    if (type == kind.name)
      config.at("model_type")
          .fail(
              fmt::format("is '{}', which has {}: not computed here", type, kind.what),
              kind.what == kVision
                  ? "import the part that is a language model as \"qwen2\" or \"qwen3\""
                  : "a recorded step of it can be imported instead: a trace of PyTorch's profiler "
                    "(docs/import.md)");
}

} // namespace

bool is_hf_config(const Json& config)
{
  return config.is_object() && config.contains("model_type") && config["model_type"].is_string();
}

std::vector<std::string> hf_model_types()
{
  std::vector<std::string> names;
  for (const ModelType& type : kTypes)
    names.emplace_back(type.name);
  return names;
}

Json import_hf_config(const Value& config)
{
  if (!is_hf_config(config.json()))
    config.fail("is no config.json of Hugging Face: it has no \"model_type\"");
  const Config c(config);
  const std::string type = c.text("model_type");
  refuse(config, type);
  if (type == "llama4" && config.json().contains("text_config"))
    return import_hf_config(config.at("text_config"));
  const auto* const known = std::find_if(std::begin(kTypes), std::end(kTypes),
                                         [&](const ModelType& t) { return type == t.name; });
  if (known == std::end(kTypes))
    config.at("model_type")
        .fail("is not a kind of model that is known: '" + excerpt(type) + "'",
              suggestion(type, hf_model_types(), "kinds") +
                  "; a transformer can be described by hand: foretrain schema model");
  Json file = {{"format", "foretrain.network/1"},
               {"source", "config.json of Hugging Face, model_type " + type}};
  if (type == "vit")
    file["dataset"] = "imagenet";
  Json transformer = known->read(c);
  const int limit = c.number_or("max_position_embeddings", 2048);
  file["sequence"] =
      type == "vit" ? transformer["positions"].get<int>() : std::min(limit, kUsualSequence);
  file["transformer"] = std::move(transformer);
  return file;
}

} // namespace foretrain::models
