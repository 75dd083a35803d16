// config.json of published models: as many parameters as their weights have.
#include "models/transformer/counts.hpp"
#include "models/transformer/hf_config.hpp"
#include "models/transformer/operators.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::hf_kinds_test {

using namespace foretrain::models;

namespace {

Value config(const std::string& text)
{
  return Value(parse_document(text, "config.json"));
}

Json imported(const std::string& text)
{
  return import_hf_config(config(text));
}

double parameters_of(const std::string& text)
{
  return parameters(
             load_transformer(Value(parse_document(imported(text).dump(), "model"))).transformer)
      .total();
}

// What is published with the weights, and how many of them are left out here, by hand.
struct Published {
  const char* config;
  double parameters;
  double left_out;
  int sequence;
};
const Published kPublished[] = {
    // facebook/opt-125m
    {R"({"model_type": "opt", "architectures": ["OPTForCausalLM"], "hidden_size": 768,
         "num_attention_heads": 12, "ffn_dim": 3072, "num_hidden_layers": 12, "vocab_size": 50272,
         "max_position_embeddings": 2048, "word_embed_proj_dim": 768})",
     125239296, 0, 2048},
    // bigscience/bloom-560m: the norm of the embeddings
    {R"({"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16,
         "seq_length": 2048, "vocab_size": 250880})",
     559214592, 2 * 1024, 2048},
    // bigcode/starcoderbase-1b
    {R"({"model_type": "gpt_bigcode", "n_embd": 2048, "n_head": 16, "n_inner": 8192, "n_layer": 24,
         "n_positions": 8192, "multi_query": true, "vocab_size": 49152})",
     1137207296, 0, 8192},
    // bigcode/starcoder2-3b
    {R"({"model_type": "starcoder2", "hidden_size": 3072, "intermediate_size": 12288,
         "num_attention_heads": 24, "num_hidden_layers": 30, "num_key_value_heads": 2,
         "sliding_window": 4096, "use_bias": true, "vocab_size": 49152,
         "max_position_embeddings": 16384})",
     3030371328, 0, 8192},
    // stabilityai/stablelm-3b-4e1t
    {R"({"model_type": "stablelm", "hidden_size": 2560, "intermediate_size": 6912,
         "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32,
         "vocab_size": 50304, "max_position_embeddings": 4096})",
     2795443200, 0, 4096},
    // allenai/OLMoE-1B-7B: norms of all heads' queries and keys together
    {R"({"model_type": "olmoe", "hidden_size": 2048, "intermediate_size": 1024,
         "num_attention_heads": 16, "num_key_value_heads": 16, "num_hidden_layers": 16,
         "num_experts": 64, "num_experts_per_tok": 8, "vocab_size": 50304})",
     6919161856, 16 * 2 * (2048 - 128), 4096},
    // google/gemma-3-1b-pt: two norms of each layer, one behind each part
    {R"({"model_type": "gemma3_text", "hidden_size": 1152, "intermediate_size": 6912,
         "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
         "num_hidden_layers": 26, "vocab_size": 262144, "sliding_window": 512,
         "max_position_embeddings": 32768})",
     999885952, 26 * 2 * 1152, 8192},
    // google/gemma-3-4b-pt's language model, as its file tells it
    {R"({"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"],
         "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
         "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024},
         "vision_config": {}})",
     3880263168, 34 * 2 * 2560, 8192},
    // FacebookAI/roberta-base without its head
    {R"({"model_type": "roberta", "architectures": ["RobertaModel"], "hidden_size": 768,
         "intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 12,
         "vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1})",
     124645632, 0, 512},
    // distilbert/distilbert-base-uncased without its head: the norm of the embeddings
    {R"({"model_type": "distilbert", "architectures": ["DistilBertModel"], "dim": 768,
         "hidden_dim": 3072, "n_heads": 12, "n_layers": 6, "vocab_size": 30522})",
     66362880, 2 * 768, 512},
};

bool told(const std::string& text, const std::string& of)
{
  return std::ranges::any_of(left_out_of_hf_config(config(text)), [&](const std::string& note) {
    return note.find(of) != std::string::npos;
  });
}

} // namespace

TEST_CASE("a published config.json makes as many parameters as its weights have",
          "[models][transformer][import]")
{
  for (const Published& it : kPublished) {
    CAPTURE(it.config);
    CHECK(parameters_of(it.config) == it.parameters - it.left_out);
    CHECK(imported(it.config).at("sequence") == it.sequence);
  }
}

TEST_CASE("of a kind that sees the language model is imported, and that is told",
          "[models][transformer][import]")
{
  const std::string gemma = kPublished[7].config;
  CHECK(told(gemma, "text_config alone is imported"));
  CHECK(told(gemma, "the norms behind attention")); // of the part that is imported
  CHECK(imported(gemma).at("source").get<std::string>().find("vision encoder") !=
        std::string::npos);
  CHECK_FALSE(told(kPublished[6].config, "text_config"));
  CHECK_THROWS_WITH(imported(R"({"model_type": "seer", "text_config": {"model_type": "lama"}})"),
                    Catch::Contains("/text_config/model_type") && Catch::Contains("llama"));
}

TEST_CASE("kinds of config.json differ by what their classes have", "[models][transformer][import]")
{
  const Json opt = imported(kPublished[0].config).at("transformer");
  CHECK(opt.at("positions") == 2050);
  CHECK(opt.at("tied") == true);
  CHECK_THROWS_WITH(imported(R"({"model_type": "opt", "hidden_size": 1024, "ffn_dim": 4096,
    "num_attention_heads": 16, "num_hidden_layers": 24, "word_embed_proj_dim": 512})"),
                    Catch::Contains("/word_embed_proj_dim") && Catch::Contains("hidden_size"));
  const Json bloom = imported(kPublished[1].config).at("transformer");
  CHECK(bloom.at("positions") == 0); // slopes
  CHECK(told(kPublished[1].config, "norm of the embeddings"));
  CHECK(told(kPublished[9].config, "norm of the embeddings"));
  CHECK(imported(kPublished[2].config).at("transformer").at("kv_heads") == 1);
  CHECK(imported(kPublished[3].config).at("transformer").at("window") == 4096);
  const Json stable = imported(kPublished[4].config).at("transformer");
  CHECK(stable.at("norm") == "layer");
  CHECK(stable.at("bias") == false);
  CHECK(stable.at("rotary") == true);
  const std::string sizes = R"("hidden_size": 4096, "num_attention_heads": 32,
    "num_hidden_layers": 32, "vocab_size": 50304, "intermediate_size": 11008})";
  const auto norms_queries = [&](const char* type) {
    return imported(std::string("{\"model_type\": \"") + type + "\", " + sizes)
        .at("transformer")
        .contains("query_norm");
  };
  CHECK_FALSE(norms_queries("olmo"));
  CHECK(norms_queries("olmo2"));
  CHECK_FALSE(norms_queries("granite"));
  CHECK(told(R"({"model_type": "olmo", )" + sizes, "norms have weights here"));
}

TEST_CASE("RoBERTa's classifier has the dense layer that BERT's has before it",
          "[models][transformer][import]")
{
  const auto of = [](const std::string& type, const std::string& architecture) {
    return parameters_of(R"({"model_type": ")" + type + R"(", "architectures": [")" + architecture +
                         R"("], "hidden_size": 64, "intermediate_size": 256, "dim": 64,
      "hidden_dim": 256, "num_attention_heads": 2, "n_heads": 2, "num_hidden_layers": 3,
      "n_layers": 3, "vocab_size": 1000, "max_position_embeddings": 34, "type_vocab_size": 1})");
  };
  const double h = 64, f = 256;
  const double layer = 4 * (h * h + h) + 2 * h * f + f + h + 4 * h;
  const double roberta = (1000 + 34 + 1) * h + 2 * h + 3 * layer;
  const double head = h * h + h + 2 * h + 1000; // a dense layer, a norm, a bias of each token
  const double classifier = h * h + h + 2 * h + 2;
  CHECK(of("roberta", "RobertaForMaskedLM") == roberta + head);
  CHECK(of("camembert", "CamembertForCausalLM") == roberta + head);
  CHECK(of("xlm-roberta", "XLMRobertaForSequenceClassification") == roberta + classifier);
  CHECK(of("roberta", "RobertaForTokenClassification") == roberta + 2 * h + 2);
  const double distilbert = (1000 + 34) * h + 3 * layer; // without its embeddings' norm
  CHECK(of("distilbert", "DistilBertForMaskedLM") == distilbert + head);
  CHECK(of("distilbert", "DistilBertForSequenceClassification") == distilbert + classifier);
  CHECK(of("distilbert", "DistilBertForQuestionAnswering") == distilbert + 2 * h + 2);
}

} // namespace foretrain::hf_kinds_test
