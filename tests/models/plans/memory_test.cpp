// What of activations, weights and logits stays on a GPU, by what frameworks keep.
#include "models/plans/memory.hpp"

#include "tests/models/plans/llama.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::models::memory_test {

namespace {

using test::llama;

constexpr double kTokens = 8192;

} // namespace

TEST_CASE("what fp8 products need is kept as they took it", "[plans][memory]")
{
  MemorySetting s = llama();
  const double h = 4096, kv = 1024, inner = 14336;
  const auto kept = [&] { return layer_activations(s, kDenseLayer).value() / kTokens; };
  CHECK(kept() == Approx(2 * (2 * h + 2 * h + 2 * h + 2 * kv + 3 * inner)));
  s.fp8_kept = Fp8Kept::inputs;
  s.operand = 1;
  // Both norms take bf16 and make fp8; the attention's result is there in both; the activation
  // function takes bf16, and what it makes is fp8.
  CHECK(kept() == Approx(2 * (2 * h + 2 * h + 2 * kv + 2 * inner) + 2 * h + h + inner));
  s.fp8_kept = Fp8Kept::activation;
  CHECK(kept() == Approx(2 * (2 * h + 2 * h + 2 * kv) + 2 * h + h + 3 * inner));
  // Adapters take what goes into them in bf16.
  s.adapters = Adapters{};
  CHECK(kept() == Approx(2 * (4 * h + 2 * h + 2 * kv) + 2 * inner + 2 * inner));
}

TEST_CASE("a gate with a kernel of its own keeps what the activation makes", "[plans][memory]")
{
  MemorySetting s = llama();
  const double before = layer_activations(s, kDenseLayer).value();
  s.separate_gate = true;
  CHECK((layer_activations(s, kDenseLayer).value() - before) / kTokens == Approx(2 * 14336));
  s.model.gated = false;
  const double ungated = layer_activations(s, kDenseLayer).value();
  s.separate_gate = false;
  CHECK(layer_activations(s, kDenseLayer).value() == Approx(ungated));
}

TEST_CASE("tokens of experts are kept in fp8 where their products take that", "[plans][memory]")
{
  MemorySetting s = llama();
  s.model.experts = 8;
  s.model.top_k = 2;
  s.model.expert_ffn = 1024;
  const double before = layer_activations(s, kExpertLayer).value();
  s.fp8_kept = Fp8Kept::inputs;
  s.operand = 1;
  // Of a layer's inputs a byte less; of the attention's result one more; of each routed token a
  // byte less of what goes in and of what comes out of the activation function.
  CHECK((before - layer_activations(s, kExpertLayer).value()) / kTokens ==
        Approx(2 * 4096 - 4096 + 2 * (4096 + 1024)));
}

TEST_CASE("a loss keeps logits in single precision, as they are, or under their gradient",
          "[plans][memory]")
{
  MemorySetting s = llama();
  const auto other = [&](LossRule loss) {
    s.loss = loss;
    return stage_memory(s).front().other.value();
  };
  const double logits = kTokens * 128256;
  CHECK(other(LossRule::megatron) - other(LossRule::flash) == Approx(2 * logits));
  CHECK(other(LossRule::flash) - other(LossRule::in_place) == Approx(2 * logits));
  CHECK(other(LossRule::automatic) == other(LossRule::pytorch));
}

TEST_CASE("a stage that keeps its weights has them and their gradients whole", "[plans][memory]")
{
  MemorySetting s = llama();
  s.plan.zero = 3;
  s.plan.pipeline = 4;
  s.batch.data = 8;
  s.batch.gpus = 32;
  const StageMemory shared = stage_memory(s)[1];
  s.stages_keep_weights = true;
  const StageMemory kept = stage_memory(s)[1];
  CHECK(kept.weights.value() == Approx(8 * shared.weights.value()));
  CHECK(kept.gradients.value() == Approx(8 * shared.gradients.value()));
  CHECK(kept.optimizer == shared.optimizer);
  // And no two layers beside them.
  CHECK(kept.other < shared.other);
  s.plan.zero = 2; // which shares out no less then
  const StageMemory gradients = stage_memory(s)[1];
  CHECK(gradients.weights == kept.weights);
  CHECK(gradients.gradients == kept.gradients);
  CHECK(gradients.optimizer == kept.optimizer);
  CHECK(gradients.other == kept.other);
  s.plan.zero = 3;
  s.plan.pipeline = 1;
  s.batch.gpus = 8;
  const Bytes alone = stage_memory(s)[0].weights;
  s.stages_keep_weights = false;
  CHECK(stage_memory(s)[0].weights == alone);
}

TEST_CASE("what an optimizer's step copies takes the place of activations", "[plans][memory]")
{
  MemorySetting s = llama();
  const StageMemory without = stage_memory(s).front();
  const double parameters = without.weights.value() / s.state.weight;
  s.state.step = 0.9 * without.activations.value() / parameters; // less than what is gone
  CHECK(stage_memory(s).front().total() == without.total());
  s.state.step = 100;
  constexpr double kContext = 1e9;
  const auto stepping = [&] {
    const StageMemory m = stage_memory(s).front();
    return m.total().value() - m.weights.value() - m.gradients.value() - m.optimizer.value() -
           kContext;
  };
  CHECK(stepping() == Approx(100 * parameters));
  s.plan.zero = 1; // of its share alone
  s.batch.data = 4;
  s.batch.gpus = 4;
  CHECK(stepping() == Approx(25 * parameters));
  s.state.offload = 0.5; // and not of what the host steps
  CHECK(stepping() == Approx(12.5 * parameters));
}

TEST_CASE("frozen weights of layers may be kept in fp8", "[plans][memory]")
{
  MemorySetting s = llama();
  s.adapters = Adapters{};
  const double whole = stage_memory(s).front().weights.value();
  s.state.frozen = 1;
  const double tables = 2.0 * 128256 * 4096;
  CHECK(whole - stage_memory(s).front().weights.value() == Approx(whole / 2 - tables));
  s.plan.zero = 3;
  s.batch.data = 8;
  CHECK(stage_memory(s).front().weights.value() == Approx((whole - (whole / 2 - tables)) / 8));
  s.adapters.reset();
  s.plan.zero = 0;
  CHECK(stage_memory(s).front().weights.value() == whole); // of what is trained nothing is frozen
}

TEST_CASE("zero 3 divides weights among all that hold them, or among those of a node",
          "[plans][memory]")
{
  MemorySetting s = llama();
  s.batch.data = 8;
  s.plan.context = 2;
  s.plan.tensor = 2;
  s.per_node = 8;
  CHECK(s.weight_shards() == 16);
  s.plan.shard = ZeroShard::node;
  CHECK(s.weight_shards() == 4);
  s.per_node = 1; // a tensor-parallel group over nodes: each keeps its part whole
  CHECK(s.weight_shards() == 1);
  s.per_node = 72;
  CHECK(s.weight_shards() == 16); // all are on one
  s.plan.zero = 1;                // and of its optimizer alone
  s.per_node = 8;
  CHECK(s.share_of({1000, 0}) == Approx(250));
  s.plan.shard = ZeroShard::all;
  CHECK(s.share_of({1000, 0}) == Approx(62.5));
}

TEST_CASE("Mamba keeps what goes into its scan and what comes out", "[plans][memory]")
{
  MemorySetting s = llama();
  s.model.norm = "rms";
  s.model.mamba = Mamba{64, 64, 128, 8, 4, 128};
  const LayerParts mamba{Mixer::mamba, FeedForward::none};
  const auto kept = [&] { return layer_activations(s, mamba).value() / kTokens; };
  const double h = 4096, inner = 4096, projected = 2 * 4096 + 2 * 8 * 128 + 64;
  CHECK(kept() == Approx(2 * (2 * h + projected + 2 * inner)));
  s.fp8_kept = Fp8Kept::inputs; // of both products
  s.operand = 1;
  CHECK(kept() == Approx(3 * h + 2 * (projected + inner) + inner));
  s.adapters = Adapters{}; // none on these: their inputs are not needed
  CHECK(kept() == Approx(2 * h + 2 * (projected + inner)));
  s.adapters.reset();
  s.recompute = Recompute::selective;
  s.modules = {LayerModule::layernorm};
  CHECK(kept() == Approx(2 * h + 2 * (projected + inner) + inner));
  s.recompute = Recompute::full;
  CHECK(kept() == Approx(2 * h));
}

TEST_CASE("an adapter that drops some of its input keeps a mask, and a copy where others keep that",
          "[plans][memory][closed-form]")
{
  MemorySetting s = llama();
  const auto kept = [&](std::vector<AdapterTarget> targets) {
    s.adapters = Adapters{16, std::move(targets)};
    const double all = layer_activations(s, kDenseLayer).value();
    s.adapters->dropout = true;
    return (layer_activations(s, kDenseLayer).value() - all) / kTokens;
  };
  CHECK(kept({AdapterTarget::linear_qkv}) == Approx(s.model.hidden));
  CHECK(kept({AdapterTarget::linear_proj}) == Approx(3.0 * s.model.heads * s.model.head()));
  CHECK(kept({AdapterTarget::linear_fc1}) == Approx(s.model.hidden));
  CHECK(kept({AdapterTarget::linear_fc2}) == Approx(s.model.inner()));
}

TEST_CASE("a stage makes anew what its own layers have", "[plans][memory]")
{
  // Dense layers on the first stage, layers of experts on the second, where memory is needed.
  MemorySetting s = llama();
  s.model.layers = 4;
  s.model.experts = 8;
  s.model.top_k = 2;
  s.model.expert_ffn = 2048;
  s.model.dense_layers = 2;
  s.plan.pipeline = 2;
  s.batch.micro_batches = 2;
  const auto activations = [&] {
    std::vector<double> bytes;
    for (const StageMemory& stage : stage_memory(s))
      bytes.push_back(stage.activations.value());
    return bytes;
  };
  const auto kept = activations();
  s.recompute = Recompute::selective;
  s.modules = {LayerModule::mlp};
  const auto dense = activations();
  CHECK_THAT(dense[1], test::is(kept[1])); // it has no such part
  CHECK(dense[0] < kept[0]);
  // All layers keep less; while one is made anew, what it had is there again.
  s.modules.clear();
  s.recompute = Recompute::full;
  MemorySetting none = s;
  none.recompute = Recompute::none;
  const LayerParts experts = s.model.runs(2, 2).front().parts;
  const double input = layer_activations(s, experts).value();
  CHECK_THAT(activations()[1], test::is(2 * input + layer_activations(none, experts).value()));
}

} // namespace foretrain::models::memory_test
