// What a config.json leaves out is what the configuration class of transformers has by default
// (src/transformers/models/*/configuration_*.py).
#include "models/transformer/counts.hpp"
#include "models/transformer/hf_config.hpp"
#include "models/transformer/operators.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::models::hf_defaults_test {

namespace {

struct Known {
  const char* type;
  const char* needed;
  const char* defaults;
};

// Sizes that differ from every default.
constexpr const char* kSizes = R"("hidden_size": 4090, "num_hidden_layers": 32,
  "num_attention_heads": 10, "vocab_size": 65536, "intermediate_size": 14336)";

const Known kKnown[] = {
    {"llama", "", R"("tie_word_embeddings": false, "attention_bias": false,
      "num_key_value_heads": 10)"},
    {"gemma", "", R"("tie_word_embeddings": true, "attention_bias": false)"},
    {"qwen2", R"("sliding_window": 1024)",
     R"("tie_word_embeddings": false, "use_sliding_window": false, "max_window_layers": 28)"},
    {"qwen3_moe", R"("num_experts": 16, "num_experts_per_tok": 2)",
     R"("decoder_sparse_step": 1, "mlp_only_layers": [])"},
    {"smollm3", "", R"("tie_word_embeddings": true)"},
    {"llama4_text", R"("num_local_experts": 16, "num_experts_per_tok": 1,
      "intermediate_size_mlp": 16384)",
     R"("interleave_moe_layer_step": 1)"},
    {"gpt2", R"("n_layer": 12, "n_embd": 770, "n_head": 10)", R"("n_positions": 1024)"},
    {"gpt_neox", "", R"("tie_word_embeddings": false, "use_parallel_residual": true)"},
    {"gptj", R"("n_layer": 12, "n_embd": 770, "n_head": 10)",
     R"("n_inner": 3080, "tie_word_embeddings": false)"},
    {"phi", "", R"("num_key_value_heads": 10, "tie_word_embeddings": false)"},
    {"cohere", "", R"("tie_word_embeddings": true, "use_qk_norm": false)"},
    {"falcon", "", R"("new_decoder_architecture": false, "multi_query": true, "alibi": false,
      "bias": false, "parallel_attn": true, "num_ln_in_parallel_attn": 1)"},
    {"falcon", R"("new_decoder_architecture": true, "num_kv_heads": 2)",
     R"("num_ln_in_parallel_attn": 2)"},
    {"mpt", R"("n_layers": 12, "d_model": 770, "n_heads": 10)",
     R"("expansion_ratio": 4, "max_seq_len": 2048, "no_bias": true, "attn_config": {"alibi": true})"},
    {"bert", "", R"("type_vocab_size": 2)"},
    {"vit", "", R"("patch_size": 16, "image_size": 224, "num_channels": 3)"},
    {"nemotron_h", R"("hybrid_override_pattern": "M*-", "num_key_value_heads": 2,
      "mamba_num_heads": 16, "ssm_state_size": 128)",
     R"("mamba_head_dim": 64, "n_groups": 8, "conv_kernel": 4, "chunk_size": 128,
      "tie_word_embeddings": false, "mlp_bias": false, "attention_bias": false)"},
    {"mamba", "", R"("state_size": 16, "conv_kernel": 4, "time_step_rank": 256,
      "tie_word_embeddings": true)"},
    {"jamba", R"("num_key_value_heads": 2, "attn_layer_period": 8, "num_experts": 16,
      "num_experts_per_tok": 2)",
     R"("mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 256,
      "expert_layer_period": 2)"},
    {"qwen3_next", R"("num_key_value_heads": 2, "linear_num_value_heads": 32,
      "linear_num_key_heads": 16, "linear_value_head_dim": 100, "linear_key_head_dim": 90,
      "num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 500,
      "shared_expert_intermediate_size": 500)",
     R"("full_attention_interval": 4, "linear_conv_kernel_dim": 4, "decoder_sparse_step": 1,
      "attention_bias": false)"},
};

Json imported(const Known& it, bool told)
{
  std::string text = std::string("{\"model_type\": \"") + it.type + "\", " + kSizes;
  for (const std::string more : {it.needed, told ? it.defaults : ""})
    text += more.empty() ? "" : ", " + more;
  return import_hf_config(Value(parse_document(text + "}", "config.json")));
}

} // namespace

TEST_CASE("a default of a config.json is the same told or left out",
          "[models][transformer][import]")
{
  for (const Known& it : kKnown) {
    CAPTURE(it.type);
    CHECK(imported(it, false) == imported(it, true));
  }
}

TEST_CASE("an imported vision transformer neither masks nor drops", "[models][transformer][import]")
{
  const Json t =
      import_hf_config(Value(parse_document(std::string(R"({"model_type": "vit", )") + kSizes + "}",
                                            "config.json")))
          .at("transformer");
  for (const char* key : {"attention_mask", "dropout", "joined_projections"})
    CHECK(t.at(key) == false);
}

TEST_CASE("a config.json that nobody imported is told what to do with",
          "[models][transformer][import]")
{
  const Value config(
      parse_document(R"({"model_type": "bert", "hidden_size": 384})", "config.json"));
  CHECK_THROWS_WITH(refuse_hf_config(config), Catch::Contains("which is to be imported") &&
                                                  Catch::Contains("foretrain model import"));
  CHECK_NOTHROW(refuse_hf_config(Value(parse_document(R"({"transformer": {}})", "model.json"))));
}

TEST_CASE("an imported BERT has a pooler unless its class has none",
          "[models][transformer][import]")
{
  const auto parameters_of = [](const std::string& architectures) {
    const auto text = R"({"model_type": "bert", "hidden_size": 384, "intermediate_size": 1536,
      "num_hidden_layers": 6, "num_attention_heads": 12, "vocab_size": 30522)" +
                      architectures + "}";
    const Json model = import_hf_config(Value(parse_document(text, "config.json")));
    return parameters(load_transformer(Value(parse_document(model.dump(), "model"))).transformer)
        .total();
  };
  // Embeddings, six layers, transform and bias of the masked language model.
  const double h = 384, f = 1536, v = 30522;
  const double masked = (v + 512 + 2) * h + 2 * h +
                        6 * (4 * (h * h + h) + h * f + f + f * h + h + 4 * h) + h * h + h + 2 * h +
                        v;
  CHECK(parameters_of(R"(, "architectures": ["BertForMaskedLM"])") == masked);
  CHECK(parameters_of("") == masked + h * h + h);
  CHECK(parameters_of(R"(, "architectures": [])") == masked + h * h + h);
  // Without the masked language model's transform, norm and bias: a pooler and two classes, two
  // outputs of each token, or a pooler alone.
  const double body = masked - (h * h + h + 2 * h + v), pooler = h * h + h, two = 2 * h + 2;
  CHECK(parameters_of(R"(, "architectures": ["BertForSequenceClassification"])") ==
        body + pooler + two);
  CHECK(parameters_of(R"(, "architectures": ["BertForQuestionAnswering"])") == body + two);
  CHECK(parameters_of(R"(, "architectures": ["BertModel"])") == body + pooler);
}

TEST_CASE("a model without an output over the vocabulary computes none, and keeps no table for it",
          "[models][transformer][import]")
{
  const auto imported = [](const std::string& type) {
    const auto text = R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1024,
      "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 32000,
      "architectures": [")" +
                      type + "\"]}";
    const Json model = import_hf_config(Value(parse_document(text, "config.json")));
    return load_transformer(Value(parse_document(model.dump(), "model"))).transformer;
  };
  const Transformer language = imported("LlamaForCausalLM"), bare = imported("LlamaModel");
  CHECK(imported("GPT2LMHeadModel").has_logits()); // an end that says the opposite
  CHECK(parameters(language).total() - parameters(bare).total() == 32000.0 * 512);
  const auto flops = [](const Transformer& t) {
    return forward_flops_per_token(t, 1024, AttentionCount::full, 1).value();
  };
  CHECK(flops(language) - flops(bare) == Approx(2 * 32000.0 * 512));
  OperatorShape shape;
  shape.sequence = 1024;
  CHECK(output_operators(bare, shape).size() == 1); // the last norm
  CHECK(output_operators(language, shape).size() > 2);
  const Transformer rewards = imported("LlamaForSequenceClassification");
  CHECK(rewards.classes == 2);
  CHECK_FALSE(rewards.has_logits());
}

TEST_CASE("what a config.json leaves out is what its class says", "[models][transformer][import]")
{
  const auto read = [](const std::string& type) {
    const auto text = R"({"model_type": ")" + type + R"(", "hidden_size": 2048,
      "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16,
      "vocab_size": 32000})";
    return import_hf_config(Value(parse_document(text, "config.json"))).at("transformer");
  };
  CHECK(read("mixtral").at("experts") == 8);
  CHECK(read("mixtral").at("top_k") == 2);
  CHECK(read("mistral").at("kv_heads") == 8);
  CHECK(read("llama").at("kv_heads") == 16);
  CHECK_FALSE(read("llama").contains("experts"));
  CHECK(read("gemma2").at("head_size") == 256);
  CHECK(read("qwen3").at("head_size") == 128);
}

TEST_CASE("a sample of an imported model is of no more than 8192 tokens, of 2048 untold",
          "[models][transformer][import]")
{
  const auto sequence = [](const char* defaults) {
    return imported({"llama", "", defaults}, true).at("sequence").get<int>();
  };
  CHECK(sequence("") == 2048);
  CHECK(sequence(R"("max_position_embeddings": 4096)") == 4096);
  CHECK(sequence(R"("max_position_embeddings": 131072)") == 8192);
  CHECK(imported({"vit", "", ""}, false).at("sequence") == 14 * 14 + 1); // patches and a class
}

TEST_CASE("a config.json says which layers have experts or a window",
          "[models][transformer][import]")
{
  const auto told = [](const char* type, const std::string& more) {
    return imported({type, R"("num_experts": 16, "num_experts_per_tok": 2)", more.c_str()}, true)
        .at("transformer");
  };
  CHECK(told("qwen3_moe", R"("decoder_sparse_step": 2)").at("experts_every") == 2);
  CHECK(told("qwen3_moe", R"("mlp_only_layers": [0, 1])").at("dense_layers") == 2);
  CHECK_THROWS_WITH(told("qwen3_moe", R"("mlp_only_layers": [1])"),
                    Catch::Contains("/mlp_only_layers/0 must be the first layers in order"));
  const std::string asked = R"("sliding_window": 64, "use_sliding_window": true, )";
  CHECK(told("qwen2", asked + R"("max_window_layers": 0)").at("window") == 64);
  CHECK_FALSE(told("qwen2", asked + R"("max_window_layers": 99)").contains("window"));
  CHECK_THROWS_WITH(told("qwen2", asked + R"("max_window_layers": 3)"),
                    Catch::Contains("/max_window_layers must be 0 or num_hidden_layers"));
  CHECK(told("mistral", R"("sliding_window": 64)").at("window") == 64);
}

TEST_CASE("a config.json says which layers attend to everything", "[models][transformer][import]")
{
  // The first of 32 layers; the others go on as these begin.
  const auto told = [](const char* type, std::vector<bool> full) {
    const auto every = std::find(full.begin(), full.end(), true) - full.begin() + 1;
    while (full.size() < 32)
      full.push_back(static_cast<std::ptrdiff_t>(full.size() + 1) % every == 0);
    Json kinds = Json::array();
    for (const bool it : full)
      kinds.push_back(it ? "full_attention" : "sliding_attention");
    const std::string more = R"("sliding_window": 64, "layer_types": )" + kinds.dump();
    return imported({type, "", more.c_str()}, true).at("transformer");
  };
  for (const char* type : {"gpt_oss", "gemma3_text", "mistral"}) {
    CHECK(told(type, {false, false, true, false, false, true, false}).at("full_attention_every") ==
          3);
    CHECK(told(type, {true, true}).at("full_attention_every") == 1);
    CHECK_FALSE(told(type, std::vector(32, false)).contains("full_attention_every"));
    CHECK_THROWS_WITH(told(type, {false, true, true, true}), Catch::Contains("/layer_types/2 is"));
    CHECK_THROWS_WITH(told(type, {false, true, false, false}),
                      Catch::Contains("/layer_types/3 is") &&
                          Catch::Contains("other distances than every 2"));
  }
  const std::string linear =
      R"("layer_types": )" + Json(std::vector<std::string>(32, "linear_attention")).dump();
  CHECK_THROWS_WITH(imported({"qwen3", "", linear.c_str()}, true),
                    Catch::Contains("/layer_types/0 must be one of full_attention"));
}

TEST_CASE("an imported vision transformer has as many classes as labels",
          "[models][transformer][import]")
{
  const char* const three = R"("id2label": {"0": "cat", "1": "dog", "2": "cow"})";
  CHECK(imported({"vit", "", three}, true).at("transformer").at("classes") == 3);
  CHECK(imported({"vit", "", three}, false).at("transformer").at("classes") == 1000);
}

namespace {

Json from(const std::string& text)
{
  return import_hf_config(Value(parse_document("{" + text + "}", "config.json"))).at("transformer");
}

} // namespace

TEST_CASE("MPT's attention says how many heads its keys have", "[models][transformer][import]")
{
  const auto heads = [](const std::string& attention) {
    return from(R"("model_type": "mpt", "n_layers": 12, "d_model": 770, "n_heads": 10,
                   "vocab_size": 1000, "attn_config": {)" +
                attention + "}")
        .value("kv_heads", 10);
  };
  CHECK(heads(R"("attn_type": "multihead_attention")") == 10);
  CHECK(heads(R"("attn_type": "multiquery_attention")") == 1);
  CHECK(heads(R"("attn_type": "grouped_query_attention", "kv_n_heads": 5)") == 5);
  CHECK_THROWS_WITH(heads(R"("attn_type": "linear")"),
                    Catch::Contains("/attn_config/attn_type must be one of"));
}

TEST_CASE("a config.json is taken as it says, or not at all", "[models][transformer][import]")
{
  const auto llama = [](const std::string& more) {
    return from(std::string(R"("model_type": "llama", "hidden_size": 4096, "vocab_size": 32000,
      "num_attention_heads": 32, "intermediate_size": 11008)") +
                more);
  };
  CHECK(llama(R"(, "num_hidden_layers": 2)").at("layers") == 2);
  CHECK_THROWS_WITH(
      llama(R"(, "num_hidden_layers": 4294967328)"),
      Catch::Contains("/num_hidden_layers must be at most 2147483647, got 4294967328"));
  CHECK_THROWS_WITH(llama(R"(, "num_hidden_layers": 3, "sliding_window": 128,
                            "layer_types": ["full_attention", "sliding_attention"])"),
                    Catch::Contains("/layer_types tells the kinds of 2 layers"));
  const auto left_out = [](const std::string& text) {
    return left_out_of_hf_config(Value(parse_document("{" + text + "}", "config.json")));
  };
  CHECK(left_out(R"("num_nextn_predict_layers": 0, "mlp_bias": false)").empty());
  REQUIRE(left_out(R"("num_nextn_predict_layers": 1, "mlp_bias": true)").size() == 2);
  CHECK_THAT(left_out(R"("num_nextn_predict_layers": 1)").at(0),
             Catch::Contains("\"mtp_layers\": 1"));
}

} // namespace foretrain::models::hf_defaults_test
