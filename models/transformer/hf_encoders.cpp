#include "models/transformer/hf_encoders.hpp"

#include <algorithm>
#include <string_view>

namespace foretrain::models::hf {

namespace {

// These are built with add_pooling_layer=False.
bool has_pooler(std::string_view type)
{
  constexpr std::string_view kWithout[] = {"ForMaskedLM", "ForTokenClassification",
                                           "ForQuestionAnswering", "LMHeadModel", "ForCausalLM"};
  return std::ranges::none_of(kWithout, [&](std::string_view end) { return type.ends_with(end); });
}

} // namespace

Json bert(const Config& c)
{
  Json t = sizes(c);
  t["positions"] = c.number_or("max_position_embeddings", 512);
  t["token_types"] = c.number_or("type_vocab_size", 2);
  t["encoder"] = true;
  t["pooler"] = has_pooler(c.architecture());
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

Json roberta(const Config& c)
{
  Json t = bert(c);
  t["positions"] = c.number_or("max_position_embeddings", 512 + kPadding);
  return t;
}

Json distilbert(const Config& c)
{
  return {{"layers", c.number("n_layers")},
          {"hidden", c.number("dim")},
          {"heads", c.number("n_heads")},
          {"ffn", c.number("hidden_dim")},
          {"vocabulary", c.number("vocab_size")},
          {"positions", c.number_or("max_position_embeddings", 512)},
          {"encoder", true},
          {"pooler", c.architecture().ends_with("ForSequenceClassification") ||
                         c.architecture().ends_with("ForMultipleChoice")},
          {"prediction_head", true},
          {"tied", true}};
}

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

} // namespace foretrain::models::hf
