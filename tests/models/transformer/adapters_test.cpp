// Adapters, frozen weights, modules that may be repeated, and layers that predict further tokens.
#include "models/networks/network.hpp"
#include "models/transformer/compute.hpp"
#include "models/transformer/counts.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/transformers.hpp"

namespace foretrain::models::adapters_test {

using test::preset_transformer;

namespace {

TransformerDevice some_device()
{
  TransformerDevice device;
  device.half.peak = device.attention.peak = 100e12;
  device.half.memory = device.attention.memory = 1e12;
  device.memory = BytesPerSecond(1e12);
  device.kernel_floor = Seconds(0);
  return device;
}

double sum_of(const std::vector<Operator>& operators, bool trained)
{
  double weights = 0;
  for (const Operator& op : operators)
    if (op.weights && op.frozen != trained)
      weights += op.product.count * op.product.n * op.product.k;
  return weights;
}

} // namespace

TEST_CASE("adapters of a layer are rank x (inputs + outputs) of each product",
          "[models][transformer][closed-form]")
{
  const Transformer t = preset_transformer("llama-2-70b");
  const Adapters attention{16, {AdapterTarget::linear_qkv, AdapterTarget::linear_proj}};
  const LayerParameters p = adapter_parameters(t, attention, kDenseLayer);
  CHECK(p.total() == 16 * ((8192 + 8192 + 2 * 1024) + (8192 + 8192)));
  // All linear layers of Llama 2 70B, as PEFT counts them where queries, keys and values are one
  // product, as are gate and up.
  CHECK(adapter_parameters(t, Adapters{}, kDenseLayer).total() ==
        p.total() + 16 * ((8192 + 2 * 28672) + (28672 + 8192)));
  // DoRA trains a magnitude of each output, too.
  Adapters magnitudes = attention;
  magnitudes.magnitudes = true;
  CHECK(adapter_parameters(t, magnitudes, kDenseLayer).total() ==
        p.total() + 8192 + 2 * 1024 + 8192);
  // Each expert has its own.
  const Transformer mixture = preset_transformer("mixtral-8x7b");
  CHECK(adapter_parameters(mixture, Adapters{}, kExpertLayer).experts ==
        8 * adapter_parameters(mixture, Adapters{}, kDenseLayer).dense);
}

TEST_CASE("operators hold as many weights as are counted, trained and frozen",
          "[models][transformer]")
{
  for (const char* name :
       {"llama-3-8b", "mixtral-8x7b", "deepseek-v3", "nemotron-h-8b", "nemotron-3-super-120b-a12b",
        "qwen3-next-80b-a3b", "kimi-linear-48b-a3b", "jamba-52b-a12b", "falcon-7b"}) {
    CAPTURE(name);
    const Transformer t = preset_transformer(name);
    OperatorShape shape;
    shape.adapters = Adapters{8, {AdapterTarget::linear_qkv, AdapterTarget::linear_fc2}};
    for (const LayerRun& run : t.runs()) {
      const auto operators = layer_operators(t, shape, run.parts);
      CHECK(sum_of(operators, true) ==
            Approx(adapter_parameters(t, *shape.adapters, run.parts).total()));
      const LayerParameters all = layer_parameters(t, run.parts);
      CHECK(sum_of(operators, false) == Approx(all.total() - all.norms).epsilon(1e-3));
    }
  }
}

TEST_CASE("weights of four bits are made 16 before both products, magnitudes need norms of weights",
          "[models][transformer][closed-form]")
{
  const Transformer t = preset_transformer("llama-3-8b");
  OperatorShape shape;
  const auto named = [&](const std::string& name) {
    for (const Operator& op : layer_operators(t, shape, kDenseLayer))
      if (op.name == name)
        return op;
    return Operator{};
  };
  shape.adapters = Adapters{};
  CHECK(named("ffn down").forward_bytes == 0);
  CHECK(named("weight norms").forward_bytes == 0);
  shape.adapters->weights = FrozenWeights::nf4;
  // Four bits, and of 64 weights a scale of eight bits, of 256 of these one of 32.
  const double weights = 4096 * 14336.0;
  const Operator down = named("ffn down");
  CHECK(down.forward_bytes == Approx(weights * (0.5 + 1 / 64.0 + 4 / (64 * 256.0) + 2)));
  CHECK(down.backward_bytes == down.forward_bytes);
  CHECK(down.forward_kernels == 2);
  shape.adapters->magnitudes = true;
  CHECK(named("weight norms").forward_bytes == 5 * 2 * 4096 * (4096 + 2 * 1024.0));
  CHECK(named("weight norms").backward_bytes == 0);
  CHECK(named("magnitudes").forward_bytes > 0);
}

TEST_CASE("what an adapter does beside its products are kernels of their own, or part of them",
          "[models][transformer][closed-form]")
{
  const Transformer t = preset_transformer("llama-3-8b");
  OperatorShape shape;
  shape.adapters = Adapters{16, {AdapterTarget::linear_qkv}};
  const auto moved = [&](const std::string& name, bool backward) {
    double bytes = 0;
    for (const Operator& op : layer_operators(t, shape, kDenseLayer))
      if (op.name == name)
        bytes += backward ? op.backward_bytes : op.forward_bytes;
    return bytes / shape.tokens();
  };
  const double in = 4096;
  const double out = 4096 + 2 * 1024.0;
  // Scaled 2 + 2; both results 2 + 2 + 2, as are both gradients of what goes in.
  CHECK(moved("adapter dropout", false) == 0);
  CHECK(moved("adapter scale", false) == Approx(4 * out));
  CHECK(moved("adapter scale", true) == Approx(4 * out));
  CHECK(moved("adapter sum", false) == Approx(6 * out));
  CHECK(moved("adapter sum", true) == Approx(6 * in));
  // Read and written, with a mask of a byte.
  shape.adapters->dropout = true;
  CHECK(moved("adapter dropout", false) == Approx(5 * in));
  CHECK(moved("adapter dropout", true) == Approx(5 * in));
  shape.op_fuser = true;
  CHECK(moved("adapter dropout", false) == Approx(5 * in));
  CHECK(moved("adapter scale", false) == 0);
  CHECK(moved("adapter sum", true) == 0);
  shape.tensor = 2; // is not fused
  CHECK(moved("adapter scale", false) == Approx(4 * out / 2));
  CHECK(moved("adapter sum", false) == Approx(6 * out / 2));
}

TEST_CASE("a frozen weight has no gradient", "[models][transformer]")
{
  const Transformer t = preset_transformer("llama-3-8b");
  OperatorShape shape;
  const TransformerDevice device = some_device();
  const auto trained = output_operators(t, shape);
  shape.adapters = Adapters{};
  const auto frozen = output_operators(t, shape);
  for (std::size_t i = 0; i < trained.size(); ++i)
    if (trained[i].weights) {
      CHECK(frozen[i].backward_bytes == 0);
      CHECK(frozen[i].backward_kernels == 1);
      sim::Product input = frozen[i].product; // the gradient of what goes in
      std::swap(input.n, input.k);
      CHECK(backward_time(frozen[i], device).device.value() ==
            Approx(device.half(input, device.clock)));
      const Seconds gradient = Bytes(trained[i].backward_bytes) / device.memory;
      CHECK((backward_time(trained[i], device).device - gradient).value() ==
            Approx(2 * device.half(input, device.clock)).epsilon(0.05));
    }
  CHECK(training_flops_per_token(t, Adapters{4, {}}, 2048, AttentionCount::full).value() ==
        Approx(2 * forward_flops_per_token(t, 2048, AttentionCount::full).value()));
  const auto flops = [&](const Adapters& adapters) {
    return training_flops_per_token(t, adapters, 2048, AttentionCount::full).value();
  };
  CHECK(flops(Adapters{4}) - flops(Adapters{4, {}}) ==
        Approx(6 * t.layers * adapter_parameters(t, Adapters{4}, kDenseLayer).total()));
}

TEST_CASE("what recomputation repeats by module adds up to the layer", "[models][transformer]")
{
  using enum LayerModule;
  const Transformer t = preset_transformer("deepseek-v3");
  const OperatorShape shape;
  const TransformerDevice device = some_device();
  const auto operators = layer_operators(t, shape, kExpertLayer);
  const auto time = [&](const std::vector<LayerModule>& modules) {
    return modules_time(operators, modules, device).device.value();
  };
  CHECK(time({moe}) > time({shared_experts}) + time({moe_act}));
  CHECK(time({moe, moe_act, shared_experts}) == Approx(time({moe})));
  CHECK(time({mlp}) == 0); // a layer with experts has none
  CHECK(time({layernorm, mla_up_proj}) == Approx(time({layernorm}) + time({mla_up_proj})));
  CHECK(time({core_attn}) > 0);
  const double most = time({core_attn, layernorm, mla_up_proj, moe});
  const double all = forward_time(operators, device).device.value();
  CHECK(most < all);
  CHECK(most > 0.7 * all); // the rest: compression, output of the attention, residuals
  const auto plain = layer_operators(t, shape, kDenseLayer);
  CHECK(modules_time(plain, {moe}, device).device.value() == 0);
  CHECK(modules_time(plain, {mlp}, device).device.value() > 0);
}

TEST_CASE("a layer that predicts a further token is one more, with logits of its own",
          "[models][transformer][closed-form]")
{
  Transformer t = preset_transformer("deepseek-v3");
  const ParameterCount before = parameters(t);
  const double flops = forward_flops_per_token(t, 4096, AttentionCount::full).value();
  t.mtp_layers = 1;
  const double h = t.hidden;
  CHECK(parameters(t).total() - before.total() ==
        layer_parameters(t, kExpertLayer).total() + 2 * h * h + 3 * h);
  CHECK(parameters(t).experts - before.experts == layer_parameters(t, kExpertLayer).experts);
  Transformer longer = t;
  longer.mtp_layers = 0;
  ++longer.layers;
  const double layer = forward_flops_per_token(longer, 4096, AttentionCount::full).value() - flops;
  CHECK(forward_flops_per_token(t, 4096, AttentionCount::full).value() - flops ==
        Approx(layer + 2 * (h * t.vocabulary + 2 * h * h)));
  double products = 0;
  for (const Operator& op : prediction_operators(t, OperatorShape{}))
    if (op.weights)
      products += op.product.n * op.product.k;
  CHECK(products == 2 * h * h);
}

} // namespace foretrain::models::adapters_test
