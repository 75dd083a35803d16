#include "models/transformer/hf_config.hpp"

#include "models/transformer/hf_hybrids.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

using hf::Config;
using hf::sizes;

// Tokens of a sample in pre-training, where positions allow more (Llama 3: arXiv:2407.21783).
constexpr int kUsualSequence = 8192;

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

// Llama, Mistral, Mixtral, Qwen 2 and 3, Gemma, OLMo 2 and 3, GPT-OSS, MiniMax M2, SmolLM 3,
// Seed-OSS, and what is built like them.
Json llama_like(const Config& c)
{
  const std::string type = c.text("model_type");
  const bool mixtral = type == "mixtral"; // MixtralConfig's: 8 experts, 2 of a token
  check_layer_types(c);
  Json t = hf::gated_decoder(c);
  if (type == "mistral" || mixtral) // MistralConfig's and MixtralConfig's
    t["kv_heads"] = c.number_or("num_key_value_heads", 8);
  if (!c.has("head_dim") && (type.starts_with("gemma") || type == "qwen3"))
    t["head_size"] = type == "qwen3" ? 128 : 256; // GemmaConfig's, Qwen3Config's
  t["rotary"] = true;
  t["tied"] = c.flag_or("tie_word_embeddings", type.starts_with("gemma") || type == "smollm3");
  if (c.flag_or("attention_bias", type == "qwen2" || type == "qwen2_moe"))
    t["qkv_bias"] = true;
  const bool always = type.starts_with("qwen3") || type == "gemma3_text" ||
                      type.starts_with("olmo") || type == "dots1";
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

// GLM-4.5 and dots.llm1: experts as DeepSeek's, attention as Llama's.
Json routed_llama(const Config& c)
{
  Json t = llama_like(c);
  hf::add_routed(c, t);
  return t;
}

Json deepseek(const Config& c)
{
  Json t = llama_like(c);
  t.erase("kv_heads");
  t["head_size"] = c.number("qk_nope_head_dim");
  hf::add_routed(c, t);
  t["latent"] = {{"query_rank", c.number_or("q_lora_rank", 0)},
                 {"kv_rank", c.number("kv_lora_rank")},
                 {"rotary_size", c.number("qk_rope_head_dim")},
                 {"value_size", c.number("v_head_dim")}};
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
  if (c.flag_or("use_parallel_residual", true))
    t["block"] = "parallel";
  return t;
}

// Attention and feed-forward part behind one norm: GPT-J, Phi, Cohere.
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

// A norm of scales alone, which is told as one of root mean squares.
Json cohere(const Config& c)
{
  Json t = llama_like(c);
  t["tied"] = c.flag_or("tie_word_embeddings", true);
  t["query_norm"] = c.flag_or("use_qk_norm", false);
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

// Slopes instead of positions (ALiBi) unless told otherwise; a norm of scales alone, as Cohere's.
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

Json bert(const Config& c)
{
  Json t = sizes(c);
  t["positions"] = c.number_or("max_position_embeddings", 512);
  t["token_types"] = c.number_or("type_vocab_size", 2);
  t["encoder"] = true;
  // Built with add_pooling_layer=False.
  static const std::set<std::string> kWithout{"BertForMaskedLM", "BertForTokenClassification",
                                              "BertForQuestionAnswering"};
  t["pooler"] = !kWithout.contains(c.architecture());
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
  t["classes"] = c.has("id2label") ? c.labels() : 1000;
  t["encoder"] = true;
  t["tied"] = true;
  // ViTSelfAttention has no mask and a product each for query, key, value; both probabilities of
  // dropout are 0 in ViTConfig.
  for (const char* key : {"attention_mask", "dropout", "joined_projections"})
    t[key] = false;
  return t;
}

// A class that ends so has no output over the vocabulary: what follows the layers are some outputs
// of a sample or a token, or nothing.
void set_head(const Config& c, Json& t)
{
  const std::string type = c.architecture();
  const bool classifies =
      type.ends_with("ForSequenceClassification") || type.ends_with("ForTokenClassification") ||
      type.ends_with("ForQuestionAnswering") || type.ends_with("ForMultipleChoice");
  const bool bare =
      type.ends_with("Model") && !type.ends_with("HeadModel") && !type.ends_with("HeadsModel");
  if (!classifies && !bare)
    return;
  t["predicted"] = 0;
  t.erase("prediction_head");
  if (classifies)
    t["classes"] = type.ends_with("ForMultipleChoice") ? 1 : c.has("id2label") ? c.labels() : 2;
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
    {"olmo3", &llama_like},
    {"smollm3", &llama_like},
    {"seed_oss", &llama_like},
    {"minimax_m2", &llama_like},
    {"gpt_oss", &gpt_oss},
    {"llama4_text", &llama4},
    {"glm4_moe", &routed_llama},
    {"dots1", &routed_llama},
    {"nemotron_h", &hf::nemotron_h},
    {"mamba", &hf::mamba},
    {"jamba", &hf::jamba},
    {"qwen3_next", &hf::qwen3_next},
    {"kimi_linear", &hf::kimi_linear},
    {"kimi_k2", &deepseek},
    {"deepseek_v2", &deepseek},
    {"deepseek_v3", &deepseek},
    {"gpt2", &gpt2},
    {"gpt_neox", &gpt_neox},
    {"gptj", &gpt_j},
    {"phi", &phi},
    {"cohere", &cohere},
    {"falcon", &falcon},
    {"mpt", &mpt},
    {"bert", &bert},
    {"vit", &vit},
};

// Kinds that hold what is not computed here.
struct Refused {
  const char* name;
  const char* what;
  const char* instead;
};
constexpr const char* kVision = "a vision encoder before its language model";
constexpr const char* kLanguage =
    "import the part that is a language model as \"qwen2\" or \"qwen3\"";
constexpr const char* kChosen = "an indexer that chooses the tokens that others attend to";
constexpr const char* kLatent =
    "import it as \"deepseek_v3\": it attends to all tokens then, without the indexer's weights";
constexpr Refused kRefused[] = {
    {"qwen2_vl", kVision, kLanguage},   {"qwen2_5_vl", kVision, kLanguage},
    {"qwen3_vl", kVision, kLanguage},   {"qwen3_vl_moe", kVision, kLanguage},
    {"deepseek_v32", kChosen, kLatent}, {"glm_moe_dsa", kChosen, kLatent},
};

void refuse(const Value& config, const std::string& type)
{
  for (const Refused& kind : kRefused)
    if (type == kind.name)
      config.at("model_type")
          .fail(fmt::format("is '{}', which has {}: not computed here", type, kind.what),
                kind.instead);
}

} // namespace

bool is_hf_config(const Json& config)
{
  return config.is_object() && config.contains("model_type") && config["model_type"].is_string();
}

void refuse_hf_config(const Value& model)
{
  if (is_hf_config(model.json()))
    model.fail("is a config.json of Hugging Face's transformers, which is to be imported",
               "foretrain model import config.json --out model.json");
}

std::vector<std::string> hf_model_types()
{
  std::vector<std::string> names;
  for (const ModelType& type : kTypes)
    names.emplace_back(type.name);
  return names;
}

std::vector<std::string> left_out_of_hf_config(const Value& config)
{
  const Config c(config);
  std::vector<std::string> notes;
  if (const int layers = c.number_or("num_nextn_predict_layers", 0); layers > 0)
    notes.push_back(
        fmt::format("num_nextn_predict_layers ({}): layers that predict further tokens are "
                    "left out; \"mtp_layers\": {} in the model's \"transformer\" "
                    "trains them, too",
                    layers, layers));
  if (c.flag_or("mlp_bias", false))
    notes.push_back("mlp_bias: biases of the feed-forward parts are left out, far less than a "
                    "thousandth of the weights");
  const std::string type = c.text("model_type");
  if (type == "llama" && c.flag_or("attention_bias", false))
    notes.emplace_back("attention_bias: that of the output product is left out, far less than a "
                       "thousandth of the weights");
  if (type == "gemma2" || type == "gemma3_text")
    notes.push_back(type + ": the norms behind attention and behind the feed-forward part are left "
                           "out: their weights, and what passing over the activations twice more "
                           "takes");
  return notes;
}

Json import_hf_config(const Value& config)
{
  if (!is_hf_config(config.json()))
    config.fail("is no config.json of Hugging Face: it has no \"model_type\"");
  const Config c(config);
  const std::string type = c.text("model_type");
  refuse(config, type);
  if (type == "llama4" && config.json().contains("text_config")) {
    Json file = import_hf_config(config.at("text_config"));
    file["source"] =
        file["source"].get<std::string>() + "; the vision encoder before it is left out";
    return file;
  }
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
  if (transformer.contains("vocabulary"))
    set_head(c, transformer);
  // GPT-2 and its kin have a name of their own for it (GPT2Config: n_positions, 1024 unless told).
  const int usual = type == "gpt2" ? 1024 : 2048;
  const int limit = c.number_or("max_position_embeddings",
                                c.number_or("n_positions", c.number_or("max_seq_len", usual)));
  file["sequence"] =
      type == "vit" ? transformer["positions"].get<int>() : std::min(limit, kUsualSequence);
  file["transformer"] = std::move(transformer);
  return file;
}

} // namespace foretrain::models
