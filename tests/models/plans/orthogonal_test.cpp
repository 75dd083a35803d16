// Muon: products that make an update orthogonal, and who does them.
#include "models/plans/orthogonal.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/small_plan.hpp"
#include "tests/support/transformers.hpp"

namespace foretrain::models::orthogonal_test {

using test::small_model;

namespace {

double values(const std::vector<WeightMatrix>& matrices)
{
  double sum = 0;
  for (const WeightMatrix& matrix : matrices)
    sum += matrix.count * matrix.rows * matrix.columns;
  return sum;
}

} // namespace

TEST_CASE("matrices of a layer are its products' weights", "[plans][closed-form]")
{
  MemorySetting s = small_model(1).memory;
  s.model.norm = "rms"; // without biases
  s.model.kv_heads = 4;
  s.model.gated = true;
  const auto agrees = [&](const LayerParts& parts) {
    const LayerParameters p = layer_parameters(s.model, parts);
    CHECK(values(weight_matrices(s, parts)) == Approx(p.total() - p.norms));
  };
  agrees(kDenseLayer);
  s.model.experts = 8;
  s.model.top_k = 2;
  s.model.shared_experts = 1;
  s.model.expert_hidden = 512;
  agrees(kExpertLayer);
  s.model.latent = LatentAttention{256, 128, 32, 64};
  const double norms = 256 + 128; // of what is compressed
  CHECK(values(weight_matrices(s, kDenseLayer)) ==
        Approx(layer_parameters(s.model, kDenseLayer).mixer - norms +
               layer_parameters(s.model, kDenseLayer).dense));
  // Tensor-parallel ranks hold a share, as do those of experts.
  s.model.latent.reset();
  const auto all = weight_matrices(s, kDenseLayer);
  s.plan.tensor = 4;
  CHECK(values(weight_matrices(s, kDenseLayer)) == Approx(values(all) / 4));
  s.plan.tensor = 1;
  s.plan.expert = 4;
  double experts = 0;
  for (const WeightMatrix& matrix : weight_matrices(s, kExpertLayer))
    experts += matrix.of_experts ? matrix.count * matrix.rows * matrix.columns : 0;
  CHECK(experts == Approx(layer_parameters(s.model, kExpertLayer).experts / 4));
}

// Beside matrices there are norms, biases, convolutions over time and states of each head: little.
TEST_CASE("matrices of every bundled transformer's layers hold nearly all that layers have",
          "[plans]")
{
  int layers = 0;
  for (const std::string& name : preset_names(kNetworkKind)) {
    if (!is_transformer(resolve_preset(name, kNetworkKind)))
      continue;
    MemorySetting s = small_model(1).memory;
    s.model = test::preset_transformer(name);
    for (const LayerRun& run : s.model.runs()) {
      const LayerParameters p = layer_parameters(s.model, run.parts);
      const double held = values(weight_matrices(s, run.parts)), weights = p.total() - p.norms;
      CAPTURE(name, static_cast<int>(run.parts.mixer), held, weights);
      CHECK(held <= weights * (1 + 1e-12));
      CHECK(held >= 0.98 * weights);
      ++layers;
    }
  }
  CHECK(layers > 50);
}

TEST_CASE("an update is as many products as iterations say, shared out from zero 1 on",
          "[plans][closed-form]")
{
  StepSetting s = small_model(1);
  s.memory.model.heads = 16;
  s.device.half.memory = 1e18;
  s.device.half.memory_efficiency = 1;
  s.device.half.efficiency = 1;
  s.device.half.fill = s.device.half.floor = s.device.half.split_floor = 0;
  s.device.half.whole_waves = 0;
  CHECK(orthogonal_time(s, {{kDenseLayer, 3}}).value() == 0);
  s.newton_schulz = 5;
  // Of a square of 1,024 three products of 2 n^3; of 1,024 x 4,096 two of four times that, and one.
  const double square = 2 * std::pow(1024.0, 3) / 100e12;
  const double one = 5 * square * (4 * 3 + 2 * (4 + 1 + 4));
  CHECK(orthogonal_time(s, {{kDenseLayer, 3}}).value() == Approx(3 * one).epsilon(0.01));
  s.memory.plan.zero = 1;
  s.memory.batch.gpus = s.memory.batch.data = 2;
  CHECK(orthogonal_time(s, {{kDenseLayer, 3}}).value() == Approx(3 * one / 2).epsilon(0.01));
  // With more ranks than matrices none is done before the largest.
  s.memory.batch.gpus = s.memory.batch.data = 1000;
  CHECK(orthogonal_time(s, {{kDenseLayer, 3}}).value() ==
        Approx(5 * square * (4 + 1 + 4)).epsilon(0.01));
}

} // namespace foretrain::models::orthogonal_test
