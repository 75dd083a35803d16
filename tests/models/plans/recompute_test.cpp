// What is repeated, frozen or told by stage in the step of a large model.
#include "models/plans/piece_cost.hpp"
#include "models/plans/step.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/plan_parts.hpp"
#include "tests/support/small_plan.hpp"

#include <map>

namespace foretrain::models::recompute_test {

using test::kExchange;

namespace {

// Every exchange takes as long; what was asked is noted.
class NotedTimes final : public ExchangeTimes {
public:
  Seconds time(PlanGroup group, Operation, Bytes size) override
  {
    largest[group] = std::max(largest[group], size);
    return kExchange;
  }
  int ranks(PlanGroup) const override { return 2; }
  Seconds transfer(int, Bytes) override { return Seconds(1e-4); }
  std::map<PlanGroup, Bytes> largest;
};

StepSetting mixture(int layers)
{
  StepSetting s = test::small_model(layers);
  Transformer& t = s.memory.model;
  t.gated = t.rotary = true;
  t.experts = 8;
  t.top_k = 2;
  s.memory.batch.sequence = 512;
  return s;
}

} // namespace

TEST_CASE("attention's core is repeated whatever its kernel, or unless it is a fused one",
          "[plans]")
{
  StepSetting s = test::small_model(3);
  s.memory.recompute = Recompute::selective;
  NotedTimes times;
  const auto repeated = [&](SelectiveRecompute what, bool flash) {
    s.rules.selective = what;
    s.memory.flash = flash;
    return test::parts_of_plan(s, times).recompute.value();
  };
  CHECK(repeated(SelectiveRecompute::core, true) > 0);
  CHECK(repeated(SelectiveRecompute::attention, true) == 0);
  CHECK(repeated(SelectiveRecompute::core, false) > 0);
  CHECK(repeated(SelectiveRecompute::core, false) ==
        repeated(SelectiveRecompute::attention, false));
}

TEST_CASE("quicker kernels take their times divided, all of them", "[plans]")
{
  for (const bool scans : {false, true}) {
    StepSetting s = scans ? test::small_model(2) : mixture(2);
    if (scans) {
      s.memory.model.pattern = "M*";
      s.memory.model.mamba = Mamba{32, 64, 128, 8, 4, 128};
      s.memory.model.mamba->step_rank = 64;
    }
    s.device.functions = 1e9;
    s.device.launches.reset();
    NotedTimes times;
    const auto busy = [&] {
      const test::PlanParts parts = test::parts_of_plan(s, times);
      return parts.compute.value();
    };
    const double before = busy();
    s.device.quicken(2);
    CHECK(busy() == Approx(before / 2).epsilon(1e-9));
  }
}

TEST_CASE("where operations are repeated, tensor-parallel ranks gather again", "[plans]")
{
  constexpr int kLayers = 3;
  StepSetting s = test::small_model(kLayers);
  s.memory.plan.tensor = 2;
  s.memory.plan.sequence_parallel = true;
  s.memory.batch.gpus = 4;
  s.memory.recompute = Recompute::selective;
  NotedTimes times;
  const auto tensor = [&](SelectiveRecompute what) {
    s.rules.selective = what;
    return test::parts_of_plan(s, times).tensor.value();
  };
  // Before attention and before the feed-forward part.
  CHECK(tensor(SelectiveRecompute::operations) - tensor(SelectiveRecompute::attention) ==
        Approx(2 * kLayers * kExchange.value()));
  s.memory.plan.sequence_parallel = false;
  CHECK(tensor(SelectiveRecompute::operations) == Approx(tensor(SelectiveRecompute::attention)));
}

TEST_CASE("a layer of experts that is repeated sends its tokens again", "[plans]")
{
  constexpr int kLayers = 6;
  StepSetting s = mixture(kLayers);
  s.memory.plan.expert = 2;
  NotedTimes times;
  const test::PlanParts kept = test::parts_of_plan(s, times);
  s.memory.recompute = Recompute::selective;
  s.memory.modules = {LayerModule::layernorm, LayerModule::moe_act};
  const test::PlanParts light = test::parts_of_plan(s, times);
  CHECK(light.recompute.value() > 0);
  CHECK(light.expert == kept.expert);
  s.memory.modules = {LayerModule::moe};
  const test::PlanParts again = test::parts_of_plan(s, times);
  CHECK(kept.expert.value() == Approx(4 * kLayers * kExchange.value()));
  CHECK(again.expert.value() == Approx(6 * kLayers * kExchange.value()));
  CHECK(again.recompute > light.recompute);
  s.memory.recompute = Recompute::full;
  s.memory.modules.clear();
  const test::PlanParts all = test::parts_of_plan(s, times);
  CHECK(all.expert.value() == Approx(again.expert.value()));
  CHECK(all.recompute > again.recompute);
}

TEST_CASE("what is repeated is not kept", "[plans]")
{
  using enum LayerModule;
  MemorySetting s = mixture(4).memory;
  const auto kept = [&](const std::vector<LayerModule>& modules) {
    s.recompute = modules.empty() ? Recompute::none : Recompute::selective;
    s.modules = modules;
    return layer_activations(s, kExpertLayer).value();
  };
  const double tokens = 512 * 2.0; // bytes of an activation
  const double all = kept({});
  CHECK(all - kept({layernorm}) == Approx(tokens * 2 * 1024));
  CHECK(all - kept({moe_act}) == Approx(tokens * 2 * 4096)); // of both experts
  CHECK(all - kept({moe}) == Approx(tokens * (2 * (2 * 1024 + 3 * 4096) + 2 * 8)));
  CHECK(kept({mlp}) == all); // there is none in such a layer
  // While a layer is repeated, what it keeps is there once.
  const auto most = [&](const std::vector<LayerModule>& modules) {
    const double layer = kept(modules);
    return stage_memory(s).front().activations.value() - 4 * layer;
  };
  CHECK(most({moe}) == Approx(all - kept({moe})));
  CHECK(most({}) == Approx(0).margin(1));
}

TEST_CASE("adapters alone are exchanged and updated, and need no gradients of the rest", "[plans]")
{
  StepSetting s = mixture(4);
  s.memory.model.experts = s.memory.model.top_k = 0;
  s.memory.plan.zero = 1;
  s.rules.reduce = GradientPrecision::fp32;
  NotedTimes full;
  const test::PlanParts all = test::parts_of_plan(s, full);
  const auto memory = stage_memory(s.memory).front();
  s.memory.adapters = Adapters{16, {AdapterTarget::linear_proj}};
  NotedTimes few;
  const test::PlanParts adapted = test::parts_of_plan(s, few);
  const double trained = 4 * 16 * 2 * 1024.0;
  CHECK(few.largest[PlanGroup::data].value() == Approx(4 * trained));
  CHECK(full.largest[PlanGroup::data] > 1000 * few.largest[PlanGroup::data]);
  CHECK(adapted.optimizer < 0.01 * all.optimizer);
  CHECK(adapted.compute < all.compute);
  const auto small = stage_memory(s.memory).front();
  CHECK(small.weights == memory.weights);
  CHECK(small.gradients.value() == Approx(4 * trained));
  CHECK(small.optimizer.value() == Approx(12 * trained / 2)); // of two ranks
  CHECK(small.activations < memory.activations);
}

TEST_CASE("experts that are cut get the tokens of all ranks that share them", "[plans]")
{
  StepSetting s = mixture(2);
  s.memory.plan.tensor = 2;
  s.memory.plan.sequence_parallel = true;
  NotedTimes times;
  const test::PlanParts whole = test::parts_of_plan(s, times);
  CHECK(times.largest.count(PlanGroup::expert_tensor) == 0);
  s.memory.plan.expert_tensor = 2;
  const test::PlanParts cut = test::parts_of_plan(s, times);
  // Half of 512 tokens on each rank, each to two experts, 1024 values of two bytes, two ranks.
  CHECK(times.largest[PlanGroup::expert_tensor].value() == Approx(256 * 2 * 1024 * 2 * 2.0));
  // Two more exchanges in each pass of each layer.
  CHECK((cut.tensor - whole.tensor).value() == Approx(2 * 2 * 2 * kExchange.value()));
}

TEST_CASE("ranks with tokens of their own share an expert by bringing these together", "[plans]")
{
  StepSetting s = mixture(2);
  NotedTimes times;
  const test::PlanParts whole = test::parts_of_plan(s, times);
  s.memory.plan.expert_tensor = 2;
  const test::PlanParts cut = test::parts_of_plan(s, times);
  // All 512 tokens of each of two ranks, each to two experts, 1024 values of two bytes.
  CHECK(times.largest[PlanGroup::expert_tensor].value() == Approx(2 * 512 * 2 * 1024 * 2.0));
  CHECK((cut.tensor - whole.tensor).value() == Approx(2 * 2 * 2 * kExchange.value()));
  // Twice the tokens by half of each expert.
  const auto flops = [&](int ways) {
    s.memory.plan.expert_tensor = ways;
    double sum = 0;
    for (const Operator& op : layer_operators(s.memory.model, operator_shape(s), kExpertLayer))
      sum += op.forward_flops().value();
    return sum;
  };
  CHECK(flops(2) == Approx(flops(1)));
  const Transformer t = s.memory.model;
  ParallelPlan plan;
  plan.tensor = 2;
  plan.expert_tensor = 4;
  CHECK_THAT(problem_of(t, plan, 8, 512, 1, 16), Catch::Contains("hold the same tokens"));
  plan.sequence_parallel = true;
  CHECK(problem_of(t, plan, 8, 512, 1, 16).empty());
}

TEST_CASE("layers of the first and last stage may be told", "[plans]")
{
  Transformer t = mixture(61).memory.model;
  t.dense_layers = 3;
  t.mtp_layers = 1;
  ParallelPlan plan;
  plan.pipeline = 16;
  plan.first_stage_layers = 3;
  plan.last_stage_layers = 2;
  CHECK(problem_of(t, plan, 16, 512, 1, 16).empty());
  const auto pieces = pieces_of(t, plan);
  CHECK(count_of(pieces.front().runs, kDenseLayer) == 3);
  CHECK(count_of(pieces.front().runs, kExpertLayer) == 0);
  CHECK(pieces[1].layers() == 4);
  CHECK(count_of(pieces.back().runs, kExpertLayer) == 2);
  CHECK(pieces.back().layers() == 3); // and the one that predicts a further token
  double sum = 0;
  for (const Piece& piece : pieces)
    sum += parameters_of(piece, t, plan).total();
  CHECK(sum == Approx(parameters(t).total()));
  plan.last_stage_layers = 3;
  CHECK_THAT(problem_of(t, plan, 16, 512, 1, 16), Catch::Contains("leaves 55 of 61 layers"));
  plan.pipeline = 2;
  CHECK_THAT(problem_of(t, plan, 16, 512, 1, 16), Catch::Contains("more stages than 2"));
  plan.pipeline = 4;
  plan.virtual_stages = 2;
  plan.first_stage_layers = 13;
  plan.last_stage_layers = 12;
  CHECK_THAT(problem_of(t, plan, 16, 512, 1, 16), Catch::Contains("2 pieces of a stage"));
  plan.first_stage_layers = 17;
  plan.last_stage_layers.reset();
  CHECK_THAT(problem_of(t, plan, 16, 512, 1, 16), Catch::Contains("3 stages of 2 pieces"));
}

TEST_CASE("layers of all stages may be told", "[plans]")
{
  const Transformer t = test::small_model(12).memory.model;
  ParallelPlan plan;
  plan.pipeline = 4;
  plan.stage_layers = {2, 4, 5, 1};
  CHECK(problem_of(t, plan, 4, 512, 1, 16).empty());
  const auto pieces = pieces_of(t, plan);
  REQUIRE(pieces.size() == 4);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(pieces[i].layers() == plan.stage_layers[i]);
  CHECK((pieces.front().embedding && pieces.back().output));
  plan.last_stage_layers = 1;
  CHECK_THAT(problem_of(t, plan, 4, 512, 1, 16), Catch::Contains("tells all stages"));
  plan.last_stage_layers.reset();
  plan.stage_layers = {2, 4, 5, 2};
  CHECK_THAT(problem_of(t, plan, 4, 512, 1, 16), Catch::Contains("13 layers in all"));
  plan.stage_layers = {2, 4, 4, 1};
  CHECK_THAT(problem_of(t, plan, 4, 512, 1, 16), Catch::Contains("11 layers in all"));
  plan.stage_layers = {7, 5};
  CHECK_THAT(problem_of(t, plan, 4, 512, 1, 16),
             Catch::Contains("2 numbers, and there are 4 stages"));
  plan.pipeline = 2;
  plan.virtual_stages = 2;
  CHECK_THAT(problem_of(t, plan, 2, 512, 1, 16), Catch::Contains("there are 4 pieces"));
  plan.stage_layers = {3, 3, 3, 3};
  CHECK(problem_of(t, plan, 2, 512, 1, 16).empty());
}

TEST_CASE("stages may be cut by weights, the logits' among them", "[plans]")
{
  // Products of a layer: 4 x 64 x 64 + 2 x 64 x 256 = 49,152; logits: 3 layers' worth.
  Transformer t = test::small_model(12).memory.model;
  t.hidden = 64;
  t.heads = 4;
  t.ffn = 256;
  t.vocabulary = 3 * 49152 / 64;
  t.bias = false;
  t.rotary = true;
  ParallelPlan plan;
  plan.pipeline = 3;
  plan.cut = StageCut::weights;
  const auto counts = [&] {
    std::vector<int> all;
    for (const Piece& piece : pieces_of(t, plan))
      all.push_back(piece.layers());
    return all;
  };
  // Of 15 parts each stage may have 5, and the part with which there are more.
  CHECK(counts() == std::vector<int>{6, 5, 1});
  plan.pipeline = 5;
  CHECK(counts() == std::vector<int>{4, 3, 3, 2, 0});
  plan.stage_layers = {3, 3, 3, 2, 1};
  CHECK(counts() == plan.stage_layers);
  plan.stage_layers.clear();
  plan.pipeline = 1;
  CHECK(counts() == std::vector<int>{12});
}

} // namespace foretrain::models::recompute_test
