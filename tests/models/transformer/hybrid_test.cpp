// Models whose layers are of several kinds: Mamba-2, attention, feed-forward parts, experts.
#include "models/networks/network.hpp"
#include "models/transformer/compute.hpp"
#include "models/transformer/counts.hpp"
#include "models/transformer/hf_config.hpp"
#include "models/transformer/transformer_table.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/transformers.hpp"

namespace foretrain::models::hybrid_test {

using test::imported;
using test::preset_transformer;

namespace {

Transformer small_hybrid(const std::string& pattern)
{
  Transformer t;
  t.layers = static_cast<int>(pattern.size());
  t.hidden = 1024;
  t.heads = 8;
  t.vocabulary = 1000;
  t.norm = "rms";
  t.pattern = pattern;
  t.mamba = Mamba{32, 64, 128, 8, 4, 128};
  return t;
}

constexpr LayerParts kMamba{Mixer::mamba, FeedForward::none};

} // namespace

TEST_CASE("hybrids have their published parameters", "[models][transformer]")
{
  // Model cards and reports: arXiv:2504.03624, 2508.14444, 2512.20848.
  CHECK(parameters(preset_transformer("nemotron-h-8b")).total() == Approx(8.1e9).epsilon(5e-3));
  CHECK(parameters(preset_transformer("nemotron-h-56b")).total() == Approx(56.3e9).epsilon(5e-3));
  CHECK(parameters(preset_transformer("nemotron-nano-9b-v2")).total() ==
        Approx(8.89e9).epsilon(5e-3));
  const ParameterCount nano = parameters(preset_transformer("nemotron-3-nano-30b-a3b"));
  CHECK(nano.total() == Approx(31.6e9).epsilon(5e-3));
  CHECK(nano.active_per_token == Approx(3.6e9).epsilon(0.01));
  const ParameterCount super = parameters(preset_transformer("nemotron-3-super-120b-a12b"));
  CHECK(super.total() == Approx(120.6e9).epsilon(5e-3));
  CHECK(super.active_per_token == Approx(12.7e9).epsilon(0.01));
  CHECK(parameters(preset_transformer("nemotron-3-ultra-550b-a55b")).total() ==
        Approx(550e9).epsilon(5e-3));
}

TEST_CASE("a letter of a pattern is a layer of one part", "[models][transformer][closed-form]")
{
  const Transformer t = small_hybrid("M-M*-");
  CHECK(count_of(t.runs(), kMamba) == 2);
  CHECK(count_of(t.runs(), {Mixer::attention, FeedForward::none}) == 1);
  CHECK(count_of(t.runs(), {Mixer::none, FeedForward::dense}) == 2);
  CHECK(count_of(t.runs(3, 2), kMamba) == 0);
  // in: gate, values, 2 x 8 groups x 128 and a step a head; convolution of 4 with its bias; norm,
  // decay, bias and skip; out; a norm before.
  const double inner = 2048, convolved = 2048 + 2 * 8 * 128;
  const LayerParameters p = layer_parameters(t, kMamba);
  CHECK(p.mixer == 1024 * (inner + convolved + 32) + 5 * convolved + inner + 3 * 32 + inner * 1024);
  CHECK(p.norms == 1024);
  CHECK(p.dense + p.experts == 0);
  CHECK(layer_parameters(t, {Mixer::none, FeedForward::dense}).total() == 2 * 1024 * 4096 + 1024);
}

TEST_CASE("without a pattern layers attend in turn, each with a feed-forward part",
          "[models][transformer]")
{
  Transformer t = small_hybrid("");
  t.layers = 16;
  t.full_attention_every = 8;
  CHECK(count_of(t.runs(), {Mixer::mamba, FeedForward::dense}) == 14);
  CHECK(count_of(t.runs(), kDenseLayer) == 2);
  CHECK(t.parts_of(7) == kDenseLayer);
  t.window = 512; // of the layers that attend
  CHECK(t.windowed() == 1);
  t.full_attention_every = 0;
  CHECK(count_of(t.runs(), {Mixer::mamba, FeedForward::dense}) == 16);
}

TEST_CASE("a Mamba layer does its products' FLOP, and a token counts its states' seven times",
          "[models][transformer][closed-form]")
{
  Transformer t = small_hybrid("M");
  OperatorShape shape;
  shape.sequence = 4096;
  double products = 0;
  double chunks = 0;
  for (const Operator& op : layer_operators(t, shape, kMamba))
    (op.weights ? products : chunks) += op.forward_flops().value();
  CHECK(products == Approx(2.0 * 4096 * 1024 * (t.mamba->projected() + t.mamba->inner())));
  // Of 32 chunks of 128 tokens: pairs of a group's vectors; a head's state; what comes out of half
  // a chunk and of the state.
  CHECK(chunks ==
        Approx(2.0 * 32 *
               (8 * 128.0 * 128 * 128 + 32 * 64.0 * 128 * 128 + 32 * 128.0 * 64 * (64 + 128))));
  const double logits = 2.0 * 1000 * 1024;
  CHECK(forward_flops_per_token(t, 4096, AttentionCount::full).value() ==
        Approx(products / 4096 + logits + 7.0 * 2048 * 128));
}

TEST_CASE("tensor-parallel ranks share heads and groups of a scan", "[models][transformer]")
{
  const Transformer t = small_hybrid("M");
  const auto flops = [&](int ranks) {
    OperatorShape shape;
    shape.tensor = ranks;
    double sum = 0;
    for (const Operator& op : layer_operators(t, shape, kMamba))
      sum += op.forward_flops().value();
    return sum;
  };
  CHECK(flops(8) == Approx(flops(1) / 8));
  CHECK(flops(2) == Approx(flops(1) / 2));
}

TEST_CASE("kernels of a scan take longer by their efficiency, and make some anew backward",
          "[models][transformer][closed-form]")
{
  const Transformer t = small_hybrid("M");
  TransformerDevice device;
  device.half.peak = 100e12;
  device.half.memory = 1e12;
  device.memory = BytesPerSecond(1e12);
  device.kernel_floor = Seconds(0);
  OperatorShape shape;
  shape.sequence = 4096;
  const auto find = [&](const char* name) {
    for (const Operator& op : layer_operators(t, shape, kMamba))
      if (op.name == name)
        return op;
    throw std::logic_error(name);
  };
  const double once = forward_time(find("chunk scan"), device).device.value();
  const double states = forward_time(find("chunk states"), device).device.value();
  const double back = backward_time(find("chunk states"), device).device.value();
  shape.scan = 0.25;
  CHECK(forward_time(find("chunk scan"), device).device.value() == Approx(4 * once));
  CHECK(backward_time(find("chunk states"), device).device.value() == Approx(4 * back));
  CHECK(find("chunk scan").again == false);
  Operator kept = find("chunk states");
  kept.again = false;
  CHECK(backward_time(kept, device).device.value() == Approx(4 * (back - states)));
  CHECK(forward_time(find("mamba in"), device).device ==
        forward_time(layer_operators(t, shape, kMamba)[1], device).device);
  // Chunks' states go through memory in single precision, and on in 16 bits.
  CHECK(find("state passing").forward_bytes == 32.0 * 32 * 64 * 128 * (4 + 2));
  CHECK(find("state passing").backward_bytes == 32.0 * 32 * 64 * 128 * (2 * 4 + 3 * 2));
}

TEST_CASE("the first Mamba has narrow products for its steps, and a scan of exponentials",
          "[models][transformer][closed-form]")
{
  Transformer t = small_hybrid("M");
  t.mamba = Mamba{2048, 1, 16, 8, 4, 128, 64};
  const double inner = 2048, narrow = 64 + 2 * 16;
  CHECK(layer_parameters(t, kMamba).mixer == 1024 * 2 * inner + 5 * inner + inner * narrow +
                                                 64 * inner + inner * (16 + 2) + inner * 1024);
  OperatorShape shape;
  shape.sequence = 4096;
  double products = 0;
  Operator scan;
  for (const Operator& op : layer_operators(t, shape, kMamba)) {
    products += op.forward_flops().value();
    if (op.name == "selective scan")
      scan = op;
  }
  CHECK(products == Approx(2.0 * 4096 * (1024 * 3 * inner + inner * (narrow + 64))));
  CHECK(forward_flops_per_token(t, 4096, AttentionCount::full).value() ==
        Approx(products / 4096 + 2.0 * 1000 * 1024 + 7 * inner * 16));
  // Four values of two bytes a token and value, or the exponentials of its states.
  TransformerDevice device;
  device.memory = BytesPerSecond(1e12);
  device.kernel_floor = Seconds(0);
  const double traffic = 4096 * inner * 8 / 1e12;
  CHECK(forward_time(scan, device).device.value() == Approx(traffic));
  CHECK(backward_time(scan, device).device.value() == Approx(2 * traffic));
  device.functions = 1e12;
  CHECK(forward_time(scan, device).device.value() == Approx(4096 * inner * 16 / 1e12));
  CHECK(backward_time(scan, device).device.value() == Approx(2 * 4096 * inner * 16 / 1e12));
}

TEST_CASE("config.json of Jamba and Mamba has its published parameters",
          "[models][transformer][import]")
{
  // ai21labs/Jamba-v0.1: 51.57 B, 12 B active (arXiv:2403.19887).
  const Transformer jamba = imported(R"({"model_type": "jamba", "hidden_size": 4096,
    "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 65536, "attn_layer_period": 8, "attn_layer_offset": 4,
    "expert_layer_period": 2, "expert_layer_offset": 1, "num_experts": 16,
    "num_experts_per_tok": 2, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2,
    "mamba_dt_rank": 256, "tie_word_embeddings": false})");
  CHECK(parameters(jamba).total() == Approx(51.57e9).epsilon(1e-3));
  CHECK(parameters(jamba).active_per_token == Approx(12e9).epsilon(0.02));
  CHECK(count_of(jamba.runs(), {Mixer::attention, FeedForward::dense}) +
            count_of(jamba.runs(), kExpertLayer) ==
        4);
  // state-spaces/mamba-2.8b-hf: 2,768,345,600.
  CHECK(parameters(imported(R"({"model_type": "mamba", "hidden_size": 2560,
    "intermediate_size": 5120, "num_hidden_layers": 64, "state_size": 16, "conv_kernel": 4,
    "time_step_rank": 160, "vocab_size": 50280})"))
            .total() == Approx(2768345600.0).epsilon(1e-6));
}

TEST_CASE("routed experts may see narrower tokens", "[models][transformer][closed-form]")
{
  Transformer t = preset_transformer("nemotron-3-super-120b-a12b");
  const LayerParts experts{Mixer::none, FeedForward::experts};
  const LayerParameters p = layer_parameters(t, experts);
  CHECK(p.experts == 512.0 * 2 * 1024 * 2688);
  CHECK(p.dense == 4096.0 * 512 + 2 * 4096 * 5376.0 + 2 * 4096 * 1024.0);
  OperatorShape shape;
  shape.expert = 64;
  double weights = 0;
  double permuted = 0;
  for (const Operator& op : layer_operators(t, shape, experts)) {
    if (op.weights)
      weights += op.product.count * op.product.n * op.product.k;
    if (op.name == "permute")
      permuted = op.forward_bytes;
  }
  CHECK(weights == p.dense + p.experts / 64);
  CHECK(permuted == 4 * 2048.0 * 22 * 1024 * 2);
}

TEST_CASE("a pattern that does not fit its model is refused at its place", "[models][transformer]")
{
  const auto load = [](const std::string& rest) {
    return load_transformer(Value(parse_document(
        R"({"transformer": {"layers": 4, "hidden": 1024, "heads": 8, "vocabulary": 1000, )" + rest +
            "}}",
        "model.json")));
  };
  const std::string mamba = R"("mamba": {"heads": 32}, )";
  CHECK(load(mamba + R"("pattern": "M-*-")").transformer.layers == 4);
  CHECK_THROWS_WITH(load(mamba + R"("pattern": "M-*")"), Catch::Contains("3 letters for 4 layers"));
  CHECK_THROWS_WITH(load(mamba + R"("pattern": "M-X-")"),
                    Catch::Contains("'X' for layer 3") && Catch::Contains("E experts"));
  CHECK_THROWS_WITH(load(R"("pattern": "M-*-")"), Catch::Contains("no mamba"));
  CHECK_THROWS_WITH(load(mamba + R"("pattern": "*-*-")"), Catch::Contains("in no layer"));
  CHECK_THROWS_WITH(load(mamba + R"("pattern": "ME*E")"), Catch::Contains("the model has none"));
  CHECK_THROWS_WITH(load(mamba + R"("experts": 8, "top_k": 2, "pattern": "M-*-")"),
                    Catch::Contains("no layer of the 8 experts"));
  CHECK_THROWS_WITH(load(mamba + R"("full_attention_every": 2, "pattern": "M-*-")"),
                    Catch::Contains("full_attention_every"));
  CHECK_THROWS_WITH(load(R"("mamba": {"heads": 12})"), Catch::Contains("divide the 12 heads"));
  CHECK_THROWS_WITH(load(R"("expert_hidden": 512)"), Catch::Contains("no experts"));
}

TEST_CASE("config.json of Nemotron-H and Nemotron 3 becomes their presets",
          "[models][transformer][import]")
{
  const Transformer nano = imported(R"({"model_type": "nemotron_h", "hidden_size": 2688,
    "num_hidden_layers": 52, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
    "intermediate_size": 1856, "vocab_size": 131072, "tie_word_embeddings": false,
    "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
    "mamba_num_heads": 64, "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8,
    "conv_kernel": 4, "chunk_size": 128, "n_routed_experts": 128, "num_experts_per_tok": 6,
    "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712,
    "max_position_embeddings": 262144})");
  const Transformer preset = preset_transformer("nemotron-3-nano-30b-a3b");
  CHECK(parameters(nano).total() == parameters(preset).total());
  CHECK(parameters(nano).active_per_token == parameters(preset).active_per_token);
  // Ultra lists its layers by words, and has narrower tokens for its experts.
  const Transformer words = imported(R"({"model_type": "nemotron_h", "hidden_size": 8192,
    "num_attention_heads": 64, "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 131072,
    "intermediate_size": 5120, "layers_block_type": ["mamba", "moe", "mamba", "attention", "mlp"],
    "mamba_num_heads": 256, "ssm_state_size": 128, "n_routed_experts": 512,
    "num_experts_per_tok": 22, "moe_intermediate_size": 5120, "moe_latent_size": 2048,
    "moe_shared_expert_intermediate_size": 10240})");
  CHECK(words.pattern == "MEM*-");
  CHECK(words.routed_hidden() == 2048);
  CHECK(words.shared_experts == 2);
  CHECK(words.mamba->groups == 8);
  CHECK_THROWS_WITH(imported(R"({"model_type": "nemotron_h", "hidden_size": 8192})"),
                    Catch::Contains("layers_block_type"));
  CHECK_THROWS_WITH(imported(R"({"model_type": "nemotron_h", "hidden_size": 8192,
                                 "layers_block_type": ["mamba", "linear_attention"]})"),
                    Catch::Contains("/layers_block_type/1 must be mamba, attention, mlp or moe"));
}

TEST_CASE("a hybrid's table has its layers, its scan and what experts see", "[models][transformer]")
{
  const Json super = transformer_json(
      load_transformer(resolve_preset("nemotron-3-super-120b-a12b", kNetworkKind)))["transformer"];
  const Transformer t = preset_transformer("nemotron-3-super-120b-a12b");
  CHECK(super["pattern"] == t.pattern);
  CHECK(super["mamba"]["heads"] == t.mamba->heads);
  CHECK(super["expert_hidden"] == 1024);
  CHECK_FALSE(super.contains("routing_groups"));
  const Json deepseek = transformer_json(
      load_transformer(resolve_preset("deepseek-v3", kNetworkKind)))["transformer"];
  CHECK(deepseek["routing_groups"] == 8);
  CHECK(deepseek["routed_groups"] == 4);
  CHECK(deepseek["expert_hidden"] == deepseek["hidden"]);
}

TEST_CASE("experts every third layer are in the last of each three behind the dense ones",
          "[models][transformer][closed-form]")
{
  Transformer t;
  t.layers = 12;
  t.hidden = 64;
  t.heads = 1;
  t.experts = 4;
  t.experts_every = 3;
  t.dense_layers = 2;
  for (int layer = 0; layer < t.layers; ++layer)
    CHECK((t.parts_of(layer).has_experts()) == (layer == 4 || layer == 7 || layer == 10));
}

} // namespace foretrain::models::hybrid_test
