#include "models/transformer/hf_config.hpp"

#include "models/transformer/hf_decoders.hpp"
#include "models/transformer/hf_encoders.hpp"
#include "models/transformer/hf_hybrids.hpp"
#include "models/transformer/hf_llama.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

using hf::Config;

// Tokens of a sample in pre-training, where positions allow more (Llama 3: arXiv:2407.21783).
constexpr int kUsualSequence = 8192;

struct ModelType {
  const char* name;
  Json (*read)(const Config&);
  int positions = 2048; // the class's own default
  int padding = 0;      // of max_position_embeddings, before the first token's
};
constexpr ModelType kTypes[] = {
    {"llama", &hf::llama_like},
    {"mistral", &hf::llama_like, 4096 * 32},
    {"mixtral", &hf::llama_like, 4096 * 32},
    {"qwen2", &hf::llama_like, 32768},
    {"qwen2_moe", &hf::llama_like, 32768},
    {"qwen3", &hf::llama_like, 32768},
    {"qwen3_moe", &hf::llama_like, 32768},
    {"gemma", &hf::llama_like, 8192},
    {"gemma2", &hf::llama_like, 8192},
    {"gemma3_text", &hf::llama_like, 131072},
    {"phi3", &hf::llama_like, 4096},
    {"granite", &hf::llama_like},
    {"olmo", &hf::llama_like},
    {"olmo2", &hf::llama_like},
    {"olmo3", &hf::llama_like},
    {"olmoe", &hf::llama_like, 4096},
    {"stablelm", &hf::stablelm, 4096},
    {"smollm3", &hf::llama_like, 32768},
    {"seed_oss", &hf::llama_like},
    {"minimax_m2", &hf::llama_like},
    {"gpt_oss", &hf::gpt_oss, 131072},
    {"llama4_text", &hf::llama4},
    {"glm4_moe", &hf::routed_llama, 131072},
    {"dots1", &hf::routed_llama},
    {"nemotron_h", &hf::nemotron_h},
    {"mamba", &hf::mamba},
    {"jamba", &hf::jamba},
    {"qwen3_next", &hf::qwen3_next},
    {"kimi_linear", &hf::kimi_linear},
    {"kimi_k2", &hf::deepseek},
    {"deepseek_v2", &hf::deepseek},
    {"deepseek_v3", &hf::deepseek, 4096},
    {"gpt2", &hf::gpt2, 1024},
    {"gpt_neox", &hf::gpt_neox},
    {"gptj", &hf::gpt_j},
    {"phi", &hf::phi},
    {"cohere", &hf::cohere, 8192},
    {"falcon", &hf::falcon},
    {"mpt", &hf::mpt},
    {"opt", &hf::opt},
    {"bloom", &hf::bloom},
    {"gpt_bigcode", &hf::gpt_bigcode, 1024},
    {"starcoder2", &hf::starcoder2, 4096},
    {"bert", &hf::bert, 512},
    {"roberta", &hf::roberta, 512, hf::kPadding},
    {"xlm-roberta", &hf::roberta, 512, hf::kPadding},
    {"camembert", &hf::roberta, 512, hf::kPadding},
    {"distilbert", &hf::distilbert, 512},
    {"vit", &hf::vit},
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

const ModelType* find_type(const std::string& type)
{
  const auto* const known =
      std::ranges::find_if(kTypes, [&](const ModelType& t) { return type == t.name; });
  return known == std::end(kTypes) ? nullptr : known;
}

// Of a kind that sees or hears: the part that is its language model. Null: there is none.
std::optional<Value> language_model(const Value& config)
{
  const Config c(config);
  if (find_type(c.text("model_type")) != nullptr || !c.has("text_config"))
    return std::nullopt;
  return config.at("text_config");
}

// Tokens of a sample: what the positions hold, as far as one trains with.
int usual_sequence(const Config& c, const ModelType& type)
{
  for (const char* key : {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length"})
    if (c.has(key))
      return std::min(c.number(key) - type.padding, kUsualSequence);
  return std::min(type.positions, kUsualSequence);
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
  if (const std::optional<Value> part = language_model(config)) {
    std::vector<std::string> notes = left_out_of_hf_config(*part);
    notes.insert(notes.begin(), "text_config alone is imported: encoders of images or of sound "
                                "before the language model are left out");
    return notes;
  }
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
  if (type == "bloom" || type == "distilbert")
    notes.push_back(type + ": the norm of the embeddings is left out: as good as no weights, and "
                           "one more passing over the activations");
  if (type == "olmo")
    notes.emplace_back("olmo: norms have weights here, far less than a thousandth of all");
  return notes;
}

Json import_hf_config(const Value& config)
{
  if (!is_hf_config(config.json()))
    config.fail("is no config.json of Hugging Face: it has no \"model_type\"");
  const Config c(config);
  const std::string type = c.text("model_type");
  refuse(config, type);
  if (const std::optional<Value> part = language_model(config)) {
    Json file = import_hf_config(*part);
    file["source"] =
        file["source"].get<std::string>() + "; the vision encoder before it is left out";
    return file;
  }
  const ModelType* const known = find_type(type);
  if (known == nullptr)
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
    hf::set_head(c, transformer);
  file["sequence"] =
      type == "vit" ? transformer["positions"].get<int>() : usual_sequence(c, *known);
  file["transformer"] = std::move(transformer);
  return file;
}

} // namespace foretrain::models
