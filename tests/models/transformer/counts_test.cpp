#include "models/transformer/counts.hpp"

#include "models/networks/network.hpp"
#include "models/transformer/hf_config.hpp"
#include "models/transformer/operators.hpp"

#include "tests/support/transformers.hpp"

#include <catch2/catch.hpp>

namespace foretrain::models::counts_test {

using test::preset_transformer;

namespace {

struct Published {
  const char* model;
  double parameters;
};

// Counts of the published weights: model cards and safetensors of Hugging Face; llm-foundry's
// benchmarking tables for MPT; torchvision for ViT.
constexpr Published kPublished[] = {
    {"gpt2-small", 124'439'808},
    {"gpt2-xl", 1'557'611'200},
    {"llama-2-7b", 6'738'415'616},
    {"llama-2-13b", 13'015'864'320},
    {"llama-2-70b", 68'976'648'192},
    {"llama-3.2-1b", 1'235'814'400},
    {"llama-3.2-3b", 3'212'749'824},
    {"llama-3-8b", 8'030'261'248},
    {"llama-3-70b", 70'553'706'496},
    {"llama-3.1-405b", 405'853'388'800},
    {"mistral-7b", 7'241'732'096},
    {"mixtral-8x7b", 46'702'792'704},
    {"qwen3-0.6b", 596'049'920},
    {"qwen3-8b", 8'190'735'360},
    {"qwen3-30b-a3b", 30'532'122'624},
    {"deepseek-v3", 671'026'404'352},
    {"mpt-125m", 125'311'488},
    {"mpt-350m", 355'985'408},
    {"mpt-760m", 760'470'528},
    {"mpt-1b", 1'315'950'592},
    {"mpt-3b", 2'651'837'440},
    {"mpt-7b", 6'658'859'008},
    {"mpt-13b", 12'853'954'560},
    {"mpt-30b", 29'975'214'080},
    {"vit-b16", 86'567'656},
    {"vit-l16", 304'326'632},
    {"vit-s16", 22'050'664},
    {"vit-b32", 88'224'232},
    {"gemma-7b", 8'537'680'896},
    {"qwen2.5-0.5b", 494'032'768},
    {"qwen2.5-1.5b", 1'543'714'304},
    {"qwen2.5-3b", 3'085'938'688},
    {"qwen2.5-7b", 7'615'616'512},
    {"qwen2.5-14b", 14'770'033'664},
    {"qwen2.5-32b", 32'763'876'352},
    {"qwen2.5-72b", 72'706'203'648},
    {"qwen3-coder-480b-a35b", 480'154'875'392},
    {"deepseek-v2", 235'741'434'880},
    {"mistral-nemo-12b", 12'247'782'400},
    {"mistral-small-24b", 23'572'403'200},
    {"mistral-large-123b", 122'610'069'504},
    {"phi-3-mini", 3'821'079'552},
    {"phi-3-medium", 13'960'238'080},
    {"phi-4", 14'659'507'200},
    {"gemma-2b", 2'506'172'416},
    {"llama-7b", 6'738'415'616},
    {"llama-13b", 13'015'864'320},
    {"llama-30b", 32'528'943'616},
    {"llama-65b", 65'285'660'672},
    {"codellama-34b", 33'743'970'304},
    {"smollm3-3b", 3'075'098'624},
    {"pythia-410m", 405'334'016},
    {"pythia-1.4b", 1'414'647'808},
    {"pythia-6.9b", 6'857'302'016},
    {"pythia-12b", 11'846'072'320},
};
// Those that have a few norms or biases more than are modelled.
constexpr Published kNearly[] = {
    {"gemma-2-2b", 2'614'341'888}, {"gemma-2-9b", 9'241'705'984}, {"gemma-2-27b", 27'227'128'320},
    {"gpt-j-6b", 6'050'882'784},   {"olmo-2-7b", 7'298'617'344},  {"olmo-2-13b", 13'716'198'400},
    {"olmo-3-7b", 7'298'011'136},
};
// What cards and reports say, rounded; Llama 4 with its vision encoder.
constexpr Published kRounded[] = {
    {"gpt-oss-20b", 20.9e9},     {"gpt-oss-120b", 116.8e9}, {"glm-4.5", 355e9},
    {"glm-4.5-air", 106e9},      {"kimi-k2", 1.04e12},      {"llama-4-scout", 109e9},
    {"llama-4-maverick", 400e9}, {"minimax-m2", 230e9},     {"falcon-40b", 41.3e9},
};

} // namespace

TEST_CASE("what experts leave out is no work of theirs", "[transformer][counts]")
{
  Transformer t;
  t.layers = 3;
  t.hidden = 64;
  t.heads = 4;
  t.experts = 8;
  t.top_k = 2;
  t.vocabulary = 100;
  const auto flops = [&](double take) {
    return training_flops_per_token(t, std::nullopt, 128, AttentionCount::full, take).value();
  };
  const double experts = flops(1) - flops(0);
  CHECK(experts > 0.3 * flops(1));
  CHECK(flops(0.25) == Approx(flops(0) + 0.25 * experts));
  CHECK(flops(1) == training_flops_per_token(t, 128, AttentionCount::full).value());
}

TEST_CASE("parameters equal the published counts", "[models][transformer]")
{
  for (const Published& row : kPublished) {
    CAPTURE(row.model);
    CHECK(parameters(preset_transformer(row.model)).total() == row.parameters);
  }
  const auto near = [](const Published& row, double relative) {
    CAPTURE(row.model);
    CHECK(parameters(preset_transformer(row.model)).total() ==
          Approx(row.parameters).epsilon(relative));
  };
  for (const Published& row : kNearly)
    near(row, 1e-4);
  for (const Published& row : kRounded)
    near(row, 0.015);
}

TEST_CASE("GPT parameters and FLOP follow the formulas of Megatron-LM", "[models][transformer]")
{
  for (const char* name : {"gpt3-1.7b", "gpt3-18b", "gpt3-175b", "gpt3-1t"}) {
    CAPTURE(name);
    const Transformer t = preset_transformer(name);
    const double l = t.layers, h = t.hidden, v = t.vocabulary, s = 2048;
    // arXiv:2104.04473, equation 2, and the last norm.
    CHECK(parameters(t).total() ==
          Approx(12 * l * h * h * (1 + 13 / (12 * h) + (v + s) / (12 * l * h)) + 2 * h));
    // Equation 3, for a token and without the recomputed forward pass: 72 instead of 96.
    const double flops = 72 * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
    // Biases, which the formula leaves out, are 9 h of a layer.
    CHECK(training_flops_per_token(t, 2048, AttentionCount::full).value() ==
          Approx(flops + 6 * 9 * l * h).epsilon(1e-9));
  }
}

TEST_CASE("a token passes the experts it is sent to, and no others", "[models][transformer]")
{
  const Transformer t = preset_transformer("mixtral-8x7b");
  const ParameterCount count = parameters(t);
  CHECK(count.total() - count.active_per_token == Approx(count.experts * 6 / 8));
  CHECK(count.active_per_token == Approx(12.88e9).epsilon(1e-3)); // as Mistral AI tells it
}

TEST_CASE("each weight's gradient is read and written once more in backward",
          "[models][transformer]")
{
  const Transformer t = preset_transformer("llama-2-7b");
  OperatorShape shape;
  shape.accumulate = 4;
  double weights = 0;
  double bytes = 0;
  for (const Operator& op : layer_operators(t, shape, kDenseLayer))
    if (op.weights) {
      weights += op.product.count * op.product.n * op.product.k;
      bytes += op.backward_bytes;
    }
  CHECK(weights == Approx(layer_parameters(t, kDenseLayer).total()).epsilon(1e-3)); // without norms
  CHECK(bytes == Approx(2 * 4 * weights));
}

TEST_CASE("kernels of their own that add up gradients read the gradient and the sum, and write it",
          "[models][transformer][closed-form]")
{
  OperatorShape shape;
  shape.separate_sums = true;
  shape.element = 2;
  shape.accumulate = 2; // autograd, where weights have no other precision
  CHECK(shape.summed() == 2 + 2 + 2);
  shape.accumulate = 4; // behind a cast
  CHECK(shape.summed() == (2 + 4) + (4 + 4 + 4));
  shape.separate_sums = false;
  CHECK(shape.summed() == 4 + 4);
}

TEST_CASE("operators of a layer do the layer's FLOP", "[models][transformer]")
{
  for (const char* name : {"gpt3-18b", "llama-3-8b", "mixtral-8x7b"}) {
    const Transformer t = preset_transformer(name);
    OperatorShape shape;
    shape.micro_batch = 2;
    shape.sequence = 4096;
    double sum = 0;
    for (const Operator& op : layer_operators(t, shape, t.prediction_parts()))
      sum += op.forward_flops().value();
    const double logits = 2.0 * t.vocabulary * t.hidden;
    Transformer wide = t;
    wide.window = 0;
    const double expected =
        (forward_flops_per_token(wide, 4096, AttentionCount::causal).value() - logits) / t.layers *
        2 * 4096;
    CAPTURE(name);
    CHECK(sum == Approx(expected).epsilon(1e-3));
    shape.tensor = 4;
    double share = 0;
    for (const Operator& op : layer_operators(t, shape, kDenseLayer))
      if (op.name != "router")
        share += op.forward_flops().value();
    Transformer dense = t;
    dense.experts = dense.top_k = 0;
    const double whole =
        (forward_flops_per_token(dense, 4096, AttentionCount::causal).value() - logits) / t.layers *
        2 * 4096;
    CHECK(share * 4 == Approx(whole).epsilon(1e-3));
  }
}

TEST_CASE("config.json of Hugging Face becomes the preset of the same model",
          "[models][transformer][import]")
{
  const Value config(parse_document(R"({"model_type": "llama", "hidden_size": 4096,
    "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": false,
    "max_position_embeddings": 8192})",
                                    "config.json"));
  auto document = parse_document(import_hf_config(config).dump(), "imported");
  CHECK(parameters(load_transformer(Value(document)).transformer).total() == 8'030'261'248);
  CHECK_THROWS_WITH(
      import_hf_config(Value(parse_document(
          R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
              "num_attention_heads": 32, "num_hidden_layers": 32, "vocab_size": 128256,
              "tie_word_embeddings": "yes"})",
          "c.json"))),
      Catch::Matchers::Contains("/tie_word_embeddings must be true or false, got \"yes\""));
  CHECK_THROWS_WITH(import_hf_config(Value(parse_document(R"({"model_type": "lama"})", "c.json"))),
                    Catch::Contains("llama"));
}

namespace {

Transformer imported(const char* text)
{
  return load_transformer(
             Value(parse_document(
                 import_hf_config(Value(parse_document(text, "config.json"))).dump(), "imported")))
      .transformer;
}

} // namespace

TEST_CASE("config.json of models of 2025 has their published parameters",
          "[models][transformer][import]")
{
  // openai/gpt-oss-120b: 116.83 B, 5.13 B of them active (model card, arXiv:2508.10925).
  const Transformer oss = imported(R"({"model_type": "gpt_oss", "hidden_size": 2880,
    "intermediate_size": 2880, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
    "num_hidden_layers": 36, "num_local_experts": 128, "num_experts_per_tok": 4,
    "sliding_window": 128, "attention_bias": true, "vocab_size": 201088, "swiglu_limit": 7.0,
    "rope_scaling": {"rope_type": "yarn", "factor": 32.0}})");
  CHECK(oss.clamped);
  CHECK(oss.rotary_scaled);
  CHECK(parameters(oss).total() == Approx(116.83e9).epsilon(2e-3));
  CHECK(oss.windowed() == Approx(0.5));
  // meta-llama/Llama-4-Maverick-17B-128E: 400 B, 17 B active (model card).
  const Transformer maverick = imported(R"({"model_type": "llama4", "text_config": {
    "model_type": "llama4_text", "hidden_size": 5120, "intermediate_size": 8192,
    "intermediate_size_mlp": 16384, "num_attention_heads": 40, "num_key_value_heads": 8,
    "head_dim": 128, "num_hidden_layers": 48, "num_local_experts": 128, "num_experts_per_tok": 1,
    "interleave_moe_layer_step": 2, "vocab_size": 202048}})");
  CHECK(parameters(maverick).total() == Approx(400e9).epsilon(0.01));
  CHECK(parameters(maverick).active_per_token == Approx(17e9).epsilon(0.02));
  // zai-org/GLM-4.5: 355 B, 32 B active (arXiv:2508.06471), with the layer for a further token,
  // which is not in these.
  const Transformer glm = imported(R"({"model_type": "glm4_moe", "hidden_size": 5120,
    "intermediate_size": 12288, "num_attention_heads": 96, "num_key_value_heads": 8,
    "head_dim": 128, "num_hidden_layers": 92, "n_routed_experts": 160, "num_experts_per_tok": 8,
    "moe_intermediate_size": 1536, "n_shared_experts": 1, "first_k_dense_replace": 3,
    "use_qk_norm": true, "attention_bias": true, "vocab_size": 151552})");
  CHECK(parameters(glm).total() == Approx(355e9).epsilon(0.02));
  // MiniMaxAI/MiniMax-M2: 230 B, 10 B active (model card), tables of tokens not among them; each
  // layer has experts.
  const Transformer m2 = imported(R"({"model_type": "minimax_m2", "hidden_size": 3072,
    "intermediate_size": 1536, "num_attention_heads": 48, "num_key_value_heads": 8,
    "head_dim": 128, "num_hidden_layers": 62, "num_local_experts": 256, "num_experts_per_tok": 8,
    "use_qk_norm": true, "vocab_size": 200064})");
  CHECK(m2.query_norm);
  CHECK(parameters(m2).total() == Approx(230e9).epsilon(0.01));
  CHECK(parameters(m2).active_per_token == Approx(10e9 + 2 * 3072 * 200064).epsilon(0.03));
  // rednote-hilab/dots.llm1: 142 B, 14 B active (model card).
  const Transformer dots = imported(R"({"model_type": "dots1", "hidden_size": 4096,
    "intermediate_size": 10944, "num_attention_heads": 32, "num_key_value_heads": 32,
    "head_dim": 128, "num_hidden_layers": 62, "n_routed_experts": 128, "num_experts_per_tok": 6,
    "moe_intermediate_size": 1408, "n_shared_experts": 2, "first_k_dense_replace": 1,
    "vocab_size": 152064})");
  CHECK(dots.query_norm);
  CHECK(parameters(dots).total() == Approx(142e9).epsilon(0.01));
  CHECK(parameters(dots).active_per_token == Approx(14e9).epsilon(0.05));
  // HuggingFaceTB/SmolLM3-3B: 3,075,098,624 with scales of the norms.
  const Transformer smol = imported(R"({"model_type": "smollm3", "hidden_size": 2048,
    "intermediate_size": 11008, "num_attention_heads": 16, "num_key_value_heads": 4,
    "num_hidden_layers": 36, "vocab_size": 128256, "tie_word_embeddings": true,
    "sliding_window": null, "use_sliding_window": false})");
  CHECK(parameters(smol).total() == Approx(3'075'098'624));
  // ByteDance-Seed/Seed-OSS-36B: 36 B; allenai/Olmo-3-7B: 7.3 B, every fourth layer without window.
  const Transformer seed = imported(R"({"model_type": "seed_oss", "hidden_size": 5120,
    "intermediate_size": 27648, "num_attention_heads": 80, "num_key_value_heads": 8,
    "head_dim": 128, "num_hidden_layers": 64, "attention_bias": true, "vocab_size": 155136})");
  CHECK(parameters(seed).total() == Approx(36.15e9).epsilon(1e-3));
  const Transformer olmo = imported(R"({"model_type": "olmo3", "hidden_size": 4096,
    "intermediate_size": 11008, "num_attention_heads": 32, "num_key_value_heads": 32,
    "num_hidden_layers": 32, "sliding_window": 4096, "vocab_size": 100278})");
  CHECK(olmo.query_norm);
  CHECK(olmo.windowed() == Approx(0.75));
  Transformer gemma = olmo; // whole layers: the sixth, twelfth, ... of 26
  gemma.layers = 26;
  gemma.full_attention_every = 6;
  CHECK(gemma.windowed() == Approx(22.0 / 26));
  gemma.full_attention_every = 27;
  CHECK(gemma.windowed() == 1);
  CHECK(parameters(olmo).total() == Approx(7.298e9).epsilon(1e-3));
  for (const auto& [type, why] :
       {std::pair{"qwen3_vl", "vision encoder"}, std::pair{"qwen2_5_vl", "vision encoder"},
        std::pair{"deepseek_v32", "indexer"}, std::pair{"glm_moe_dsa", "indexer"}})
    CHECK_THROWS_WITH(imported((R"({"model_type": ")" + std::string(type) + R"("})").c_str()),
                      Catch::Contains(why) && Catch::Contains("import"));
}

TEST_CASE("what a transformer tells and has no use for is refused", "[models][transformer]")
{
  const auto refused = [](const std::string& more, const std::string& why) {
    CAPTURE(more);
    CHECK_THROWS_WITH(
        load_transformer(Value(parse_document(
            R"({"transformer": {"layers": 4, "hidden": 128, "heads": 4, "vocabulary": 100, )" +
                more + "}}",
            "m.json"))),
        Catch::Contains(why));
  };
  refused(R"("expert_ffn": 64)", "/transformer/expert_ffn is of experts");
  refused(R"("full_attention_every": 2)", "/transformer/full_attention_every tells which layers");
  refused(R"("rotary_scaled": true)", "/transformer/rotary_scaled is of rotary positions");
  refused(R"("clamped": true)", "/transformer/clamped is of a gated activation");
  refused(R"("experts": 4, "top_k": 1, "experts_every": 5)",
          "/transformer/experts_every leaves none of the 4 layers");
  refused(R"("experts": 4, "top_k": 1, "dense_layers": 4)",
          "/transformer/dense_layers leaves none of the 4 layers");
  refused(R"("experts": 4, "top_k": 1, "dense_layers": 5)", "/transformer/dense_layers is 5 of 4");
}

TEST_CASE("a transformer that does not divide is refused", "[models][transformer]")
{
  const auto load = [](const char* text) {
    return load_transformer(Value(parse_document(text, "m.json")));
  };
  CHECK_THROWS_WITH(
      load(R"({"transformer": {"layers": 2, "hidden": 100, "heads": 3, "vocabulary": 10}})"),
      Catch::Contains("heads"));
  CHECK_THROWS_WITH(load(R"({"transformer": {"layers": 2, "hidden": 128, "heads": 4,
    "vocabulary": 10, "experts": 4}})"),
                    Catch::Contains("top_k"));
  CHECK_THROWS_WITH(load(R"({"transformer": {"layer": 2, "hidden": 128, "heads": 4}})"),
                    Catch::Contains("layers"));
}

TEST_CASE("element-wise work in single kernels moves what its kernels read and write",
          "[models][transformer]")
{
  Transformer t;
  t.layers = 1;
  t.hidden = 1024;
  t.heads = 8;
  t.vocabulary = 1000;
  t.gated = t.rotary = true;
  OperatorShape shape;
  shape.sequence = 512;
  shape.fused = false;
  const auto find = [&](const char* name, const std::vector<Operator>& operators) {
    for (const Operator& op : operators)
      if (op.name == name)
        return op;
    return Operator{};
  };
  const double elements = 512 * 1024;
  // Cast 2 + 4, square 4 + 4, mean 4, product 4 + 4, cast 4 + 2, product with the scale 2 + 2;
  // back: products with scale and with the normed values 2 + 2, 2 + 2 + 2 and their sum 2, cast 2 +
  // 4, by the root 4 + 4, with the values 4 + 4 + 4 and its sum 4, power 4 + 4, doubled 4 + 4, with
  // the mean's gradient 4 that is spread 4 + 4 + 4, both added 4 + 4 + 4, cast 4 + 2.
  const Operator norm = find("attention norm", layer_operators(t, shape, kDenseLayer));
  CHECK(norm.forward_bytes == Approx(36 * elements));
  CHECK(norm.backward_bytes == Approx(92 * elements));
  // Cast, product of complex numbers, cast back, of queries and keys.
  const Operator rotary = find("rotary", layer_operators(t, shape, kDenseLayer));
  CHECK(rotary.forward_bytes == Approx(((2 + 4) + (4 + 4) + (4 + 2)) * 2 * elements));
  // A compiler leaves that as it is, or has it read once and written once.
  OperatorShape compiled = shape;
  compiled.fused = true;
  CHECK(find("rotary", layer_operators(t, compiled, kDenseLayer)).backward_bytes ==
        Approx((2 + 2) * 2 * elements));
  compiled.fused_rotary = false;
  const Operator left = find("rotary", layer_operators(t, compiled, kDenseLayer));
  CHECK(left.forward_bytes == Approx(rotary.forward_bytes));
  CHECK(left.backward_bytes == Approx(rotary.forward_bytes));
  CHECK(left.forward_kernels == rotary.forward_kernels);
  const double logits = 512 * 1000;
  const auto loss = [&](LossKernels kernels) {
    shape.loss = kernels;
    return find("cross entropy", output_operators(t, shape));
  };
  // Cast 2 + 4, log-softmax 4 + 4; zeros 4, its gradient 4 + 4 + 4, cast 4 + 2.
  CHECK(loss(LossKernels::pytorch).forward_bytes == Approx(14 * logits));
  CHECK(loss(LossKernels::pytorch).backward_bytes == Approx(22 * logits));
  // Cast 6, maximum 4, difference 8, exponential 8, sum 4, quotient 8; product 8 and cast 6.
  CHECK(loss(LossKernels::megatron).forward_bytes == Approx(38 * logits));
  CHECK(loss(LossKernels::megatron).backward_bytes == Approx(14 * logits));
}

TEST_CASE("MPT has slopes and no biases, unless it is told to have them",
          "[models][transformer][import]")
{
  const auto mpt = [](const std::string& more) {
    return imported((R"({"model_type": "mpt", "n_layers": 32, "d_model": 4096, "n_heads": 32,
                                "vocab_size": 50432)" +
                     more + "}")
                        .c_str());
  };
  CHECK(parameters(mpt("")).total() == 6'649'286'656); // mosaicml/mpt-7b
  CHECK(parameters(mpt(R"(, "attn_config": {"alibi": false})")).total() ==
        6'649'286'656 + 2048 * 4096);
  CHECK(parameters(mpt(R"(, "no_bias": false)")).total() ==
        6'649'286'656 + 65 * 4096 + 32 * 9 * 4096);
}

} // namespace foretrain::models::counts_test
