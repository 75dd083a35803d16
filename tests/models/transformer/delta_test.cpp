// Linear attention with a delta rule: Gated DeltaNet and Kimi Delta Attention.
#include "models/networks/network.hpp"
#include "models/transformer/counts.hpp"
#include "models/transformer/hf_config.hpp"
#include "models/transformer/operators.hpp"
#include "models/transformer/transformer_table.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/transformers.hpp"

namespace foretrain::models::delta_test {

using test::imported;
using test::preset_transformer;

namespace {

Transformer small_linear(int gate_rank)
{
  Transformer t;
  t.layers = 4;
  t.hidden = 1024;
  t.heads = 8;
  t.vocabulary = 1000;
  t.norm = "rms";
  t.full_attention_every = 4;
  t.delta = DeltaNet{16, 8, 128, 64, 4, 64, gate_rank};
  return t;
}

constexpr LayerParts kLinear{Mixer::delta, FeedForward::none};

double flops(const Transformer& t, int tensor, bool weights)
{
  OperatorShape shape;
  shape.sequence = 4096;
  shape.tensor = tensor;
  double sum = 0;
  for (const Operator& op : layer_operators(t, shape, kLinear))
    sum += op.weights == weights ? op.forward_flops().value() : 0;
  return sum;
}

} // namespace

TEST_CASE("models with a delta rule have their published parameters", "[models][transformer]")
{
  // Model cards: 80 B and 3 B active without embedding and logits (0.62 B), 48 B and 3 B.
  const ParameterCount qwen = parameters(preset_transformer("qwen3-next-80b-a3b"));
  CHECK(qwen.total() == Approx(80e9).epsilon(5e-3));
  CHECK(qwen.active_per_token - qwen.embedding - qwen.output == Approx(3.25e9).epsilon(5e-3));
  const ParameterCount kimi = parameters(preset_transformer("kimi-linear-48b-a3b"));
  CHECK(kimi.total() == Approx(49e9).epsilon(5e-3));
  CHECK(parameters(preset_transformer("falcon-7b")).total() == Approx(6921720704.0));
}

TEST_CASE("a delta rule's layers take turns with attention", "[models][transformer][closed-form]")
{
  Transformer t = small_linear(0);
  CHECK(t.parts_of(2).mixer == Mixer::delta);
  CHECK(t.parts_of(3).mixer == Mixer::attention);
  t.full_attention_every = 0;
  CHECK(count_of(t.runs(), {Mixer::delta, FeedForward::dense}) == 4);
  t.pattern = "D-*D";
  CHECK(count_of(t.runs(), kLinear) == 2);
  CHECK(t.scans());
}

TEST_CASE("weights of a delta rule are its products', convolution's, norm's and decay's",
          "[models][transformer][closed-form]")
{
  // Queries and keys of eight heads of 64, values of 16 of 128; of each head what is written and
  // what is forgotten; a gate.
  const double keys = 8 * 64, values = 16 * 128;
  const double in = 2 * keys + values + 16 + 16 + values;
  CHECK(layer_parameters(small_linear(0), kLinear).mixer ==
        1024 * in + 4 * (2 * keys + values) + 128 + 16 + 16 + values * 1024);
  // With narrow products for both a decay of each value of a key of each head, and its bias.
  const double narrow_in = 2 * keys + values + 16 + 2 * 32;
  CHECK(layer_parameters(small_linear(32), kLinear).mixer ==
        1024 * narrow_in + 32 * (16 * 64 + values) + 4 * (2 * keys + values) + 128 + 16 + 16 * 64 +
            values * 1024);
}

TEST_CASE("a delta rule does its products' FLOP, and a token counts its states' eight times",
          "[models][transformer][closed-form]")
{
  for (const int rank : {0, 32}) {
    CAPTURE(rank);
    Transformer t = small_linear(rank);
    const DeltaNet& d = *t.delta;
    const double products = flops(t, 1, true);
    CHECK(products == Approx(2.0 * 4096 * (1024 * (d.projected() + d.values()) + d.from_narrow())));
    // Of 64 chunks of 64 tokens and 16 heads, keys of 64 and values of 128: three products of pairs
    // over keys, two over values, three of states, and a third of a cube.
    const double chunk =
        3 * 64.0 * 64 * 64 + 2 * 64.0 * 64 * 128 + 3 * 64.0 * 64 * 128 + 64.0 * 64 * 64 / 3;
    CHECK(flops(t, 1, false) == Approx(2.0 * 64 * 16 * chunk));
    t.layers = 1;
    t.full_attention_every = 0;
    t.pattern = "D";
    CHECK(forward_flops_per_token(t, 4096, AttentionCount::full).value() ==
          Approx(products / 4096 + 2.0 * 1000 * 1024 + 8 * 16 * 128 * 64.0));
  }
  // Tensor-parallel ranks share heads; narrow products' first halves are on each of them.
  CHECK(flops(small_linear(0), 4, true) == Approx(flops(small_linear(0), 1, true) / 4));
  CHECK(flops(small_linear(0), 4, false) == Approx(flops(small_linear(0), 1, false) / 4));
  const double both = flops(small_linear(32), 1, true);
  const double down = 2.0 * 4096 * 1024 * 64;
  CHECK(flops(small_linear(32), 4, true) == Approx((both - down) / 4 + down));
}

TEST_CASE("tensor-parallel ranks take tokens into a delta rule and add up what comes out of it",
          "[models][transformer]")
{
  for (const int rank : {0, 32}) { // its narrow products are of each rank alone
    OperatorShape shape;
    shape.tensor = 4;
    std::vector<std::string> in, out;
    for (const Operator& op : layer_operators(small_linear(rank), shape, kLinear)) {
      if (op.end == TensorEnd::in)
        in.push_back(op.name);
      if (op.end == TensorEnd::out)
        out.push_back(op.name);
    }
    CHECK(in == std::vector<std::string>{"linear in"});
    CHECK(out == std::vector<std::string>{"linear out"});
  }
}

TEST_CASE("what a delta rule writes and its states are made anew backward", "[models][transformer]")
{
  OperatorShape shape;
  shape.sequence = 4096;
  int anew = 0;
  for (const Operator& op : layer_operators(small_linear(0), shape, kLinear)) {
    anew += op.again ? 1 : 0;
    if (op.name == "states") {
      CHECK(op.forward_bytes == 2 * 2.0 * 64 * 16 * 64 * 128);
      CHECK(op.backward_bytes == 2 * op.forward_bytes);
    }
  }
  CHECK(anew == 4);
}

TEST_CASE("a gate behind attention is a wider product", "[models][transformer][closed-form]")
{
  Transformer t = small_linear(0);
  const double without = layer_parameters(t, kDenseLayer).mixer;
  t.attention_gate = true;
  CHECK(layer_parameters(t, kDenseLayer).mixer == without + 1024 * 1024);
  OperatorShape shape;
  bool gated = false;
  for (const Operator& op : layer_operators(t, shape, kDenseLayer))
    gated = gated || op.name == "attention gate";
  CHECK(gated);
}

TEST_CASE("config.json of models with a delta rule becomes their presets",
          "[models][transformer][import]")
{
  const Transformer qwen = imported(R"({"model_type": "qwen3_next", "hidden_size": 2048,
    "intermediate_size": 5120, "num_hidden_layers": 48, "num_attention_heads": 16,
    "num_key_value_heads": 2, "head_dim": 256, "vocab_size": 151936, "full_attention_interval": 4,
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16,
    "linear_num_value_heads": 32, "linear_value_head_dim": 128, "num_experts": 512,
    "num_experts_per_tok": 10, "moe_intermediate_size": 512, "decoder_sparse_step": 1,
    "shared_expert_intermediate_size": 512, "tie_word_embeddings": false,
    "max_position_embeddings": 262144})");
  const Transformer next = preset_transformer("qwen3-next-80b-a3b");
  CHECK(parameters(qwen).total() == parameters(next).total());
  CHECK(forward_flops_per_token(qwen, 4096, AttentionCount::causal) ==
        forward_flops_per_token(next, 4096, AttentionCount::causal));
  const Transformer kimi = imported(R"({"model_type": "kimi_linear", "hidden_size": 2304,
    "intermediate_size": 9216, "num_hidden_layers": 27, "num_attention_heads": 32,
    "vocab_size": 163840, "q_lora_rank": null, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "num_experts": 256, "num_experts_per_token": 8,
    "moe_intermediate_size": 1024, "num_shared_experts": 1, "first_k_dense_replace": 1,
    "linear_attn_config": {"full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128,
                           "num_heads": 32, "short_conv_kernel_size": 4}})");
  CHECK(parameters(kimi).total() == parameters(preset_transformer("kimi-linear-48b-a3b")).total());
  CHECK(kimi.delta->gate_rank == 128);
  CHECK_THROWS_WITH(imported(R"({"model_type": "kimi_linear", "hidden_size": 2304,
    "num_hidden_layers": 27, "num_attention_heads": 32, "kv_lora_rank": 512,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "num_experts": 256, "num_experts_per_token": 8,
    "moe_intermediate_size": 1024})"),
                    Catch::Contains("linear_attn_config"));
}

TEST_CASE("what a delta rule can't be is refused at its place", "[models][transformer]")
{
  const auto load = [](const std::string& rest) {
    return load_transformer(Value(parse_document(
        R"({"transformer": {"layers": 4, "hidden": 1024, "heads": 8, "vocabulary": 1000, )" + rest +
            "}}",
        "model.json")));
  };
  CHECK_THROWS_WITH(load(R"("delta": {"heads": 16, "key_heads": 6})"),
                    Catch::Contains("/transformer/delta/key_heads"));
  CHECK_THROWS_WITH(load(R"("delta": {"heads": 16}, "mamba": {"heads": 16})"),
                    Catch::Contains("a pattern with M and D"));
  CHECK_THROWS_WITH(load(R"("pattern": "DDDD")"), Catch::Contains("has no delta"));
  CHECK_THROWS_WITH(load(R"("delta": {"heads": 16}, "pattern": "*-*-")"),
                    Catch::Contains("D stands for it"));
  CHECK(load(R"("delta": {"heads": 16}, "mamba": {"heads": 16}, "pattern": "MD*-")")
            .transformer.layers == 4);
  CHECK_THROWS_WITH(load(R"("block": "parallel", "pattern": "*-*-")"),
                    Catch::Contains("one part each"));
  CHECK_THROWS_WITH(load(R"("block": "parallel", "experts": 4, "top_k": 1)"),
                    Catch::Contains("experts"));
}

TEST_CASE("blocks of two parts beside each other have a norm each or one",
          "[models][transformer][import]")
{
  const Transformer falcon = imported(R"({"model_type": "falcon", "hidden_size": 4544,
    "num_attention_heads": 71, "num_hidden_layers": 32, "vocab_size": 65024, "multi_query": true,
    "parallel_attn": true, "bias": false})");
  CHECK(falcon.block == Block::parallel_one_norm);
  CHECK(parameters(falcon).total() == 6921720704.0); // as safetensors of tiiuae/falcon-7b have
  CHECK(imported(R"({"model_type": "falcon", "hidden_size": 8192, "num_attention_heads": 128,
    "num_hidden_layers": 60, "vocab_size": 65024, "new_decoder_architecture": true,
    "num_kv_heads": 8, "bias": false})")
            .block == Block::parallel);
  CHECK(imported(R"({"model_type": "falcon", "hidden_size": 2048, "num_attention_heads": 32,
    "num_hidden_layers": 24, "vocab_size": 50304, "multi_query": false, "parallel_attn": false,
    "alibi": true, "bias": true})")
            .block == Block::sequential);
  // EleutherAI/gpt-j-6b: 6,050,882,784 with a bias of its logits, which is not told.
  CHECK(parameters(imported(R"({"model_type": "gptj", "n_layer": 28, "n_embd": 4096, "n_head": 16,
    "vocab_size": 50400, "n_inner": null, "n_positions": 2048})"))
            .total() == Approx(6050882784.0).epsilon(1e-4));
  // Lengths have another name there.
  const auto sequence = [](const std::string& rest) {
    const std::string config = R"({"model_type": "gpt2", "n_layer": 12, "n_embd": 768,
      "n_head": 12, "vocab_size": 50257)" +
                               rest + "}";
    return import_hf_config(Value(parse_document(config, "config.json")))["sequence"].get<int>();
  };
  CHECK(sequence(R"(, "n_positions": 512)") == 512);
  CHECK(sequence("") == 1024);
  // microsoft/phi-2: 2,779,683,840 with a bias of its logits.
  CHECK(parameters(imported(R"({"model_type": "phi", "hidden_size": 2560, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 10240,
    "vocab_size": 51200, "tie_word_embeddings": false})"))
            .total() == Approx(2779683840.0).epsilon(1e-4));
  // CohereForAI/c4ai-command-r-v01: 34,980,831,232.
  CHECK(parameters(imported(R"({"model_type": "cohere", "hidden_size": 8192,
    "intermediate_size": 22528, "num_hidden_layers": 40, "num_attention_heads": 64,
    "num_key_value_heads": 64, "vocab_size": 256000, "use_qk_norm": false})"))
            .total() == Approx(34980831232.0).epsilon(1e-6));
}

TEST_CASE("a table of a linear model has its rule, its gate and its turns", "[models][transformer]")
{
  const Json qwen = transformer_json(
      load_transformer(resolve_preset("qwen3-next-80b-a3b", kNetworkKind)))["transformer"];
  CHECK(qwen["delta"]["key_heads"] == 16);
  CHECK(qwen["full_attention_every"] == 4);
  CHECK(qwen["attention_gate"] == true);
  CHECK_FALSE(qwen.contains("block"));
  CHECK(transformer_json(load_transformer(
            resolve_preset("gpt-neox-20b", kNetworkKind)))["transformer"]["block"] == "parallel");
}

} // namespace foretrain::models::delta_test
