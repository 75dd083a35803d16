// Jobs of large models, from their keys to what is simulated.
#include "experiments/run/simulate/token_work.hpp"
#include "experiments/spec/resolve.hpp"
#include "models/transformer/counts.hpp"
#include "tests/experiments/point.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::large_job_test {

using namespace foretrain::test;

namespace {

const char* const kJob = R"({
  "cluster": {"platform": "hgx-h100"},
  "jobs": [{"model": "llama-3-8b", "framework": "nemo", "precision": "bf16", "gpus": 8,
            "global_batch": 240, "parallel": {"tensor": 2, "zero": 1}}]})";

experiments::ResolvedExperiment
large(const std::vector<std::pair<std::string, std::string>>& settings)
{
  auto document = parse_document(kJob, "test");
  for (const auto& [pointer, value] : settings)
    set_value(*document, pointer, value);
  experiments::Point point;
  point.document = document;
  return experiments::resolve(point);
}

} // namespace

TEST_CASE("adapters make a step shorter and its memory smaller", "[large][long]")
{
  const auto job = [](const std::vector<std::pair<std::string, std::string>>& settings) {
    return run_text(kJob, settings).jobs[0];
  };
  const auto all = job({});
  const auto adapted =
      job({{"/jobs/0/lora", R"({"rank": 16, "targets": ["linear_qkv", "linear_proj"]})"}});
  CHECK(adapted.step_time.median < 0.9 * all.step_time.median);
  // Those of all products exchange more among tensor-parallel ranks than they save.
  const auto wide = job({{"/jobs/0/lora", R"({"rank": 16})"}});
  CHECK(wide.step_time.median > 1.15 * adapted.step_time.median);
  CHECK(adapted.memory.needed < all.memory.needed);
  // Two thirds of the arithmetic, and little more.
  CHECK(adapted.tokens->flops.full < 0.68 * all.tokens->flops.full);
  CHECK(adapted.tokens->flops.full > 0.66 * all.tokens->flops.full);
  const auto repeated =
      job({{"/jobs/0/recompute", "selective"}, {"/jobs/0/recompute_modules", R"(["mlp"])"}});
  CHECK(repeated.time.recompute.value() > 0);
  CHECK(repeated.memory.needed < all.memory.needed);
}

TEST_CASE("an optimizer's step copies gradients in 16 bits to its masters' precision", "[large]")
{
  const auto step = [](const char* framework, const char* precision) {
    return large({{"/jobs/0/framework", framework}, {"/jobs/0/precision", precision}})
        .jobs.front()
        .transformer->step.memory.state.step;
  };
  CHECK(step(R"("nemo")", R"("bf16")") == 4);
  CHECK(step(R"("nemo-1")", R"("bf16")") == 0);   // its masters are no copies in fp32
  CHECK(step(R"("megatron")", R"("bf16")") == 0); // gradients have 32 bits
  CHECK(step(R"("deepspeed")", R"("fp16")") == 6);
  CHECK(step(R"("deepspeed")", R"("bf16")") == 0);
  CHECK(step(R"("torchtitan")", R"("bf16")") == 0);
  CHECK(step(R"({"extends": "deepspeed", "transformer": {"joined_gradients": false}})",
             R"("fp16")") == 4);
}

TEST_CASE("NeMo 1 keeps of master weights what bf16 lacks", "[large]")
{
  const auto state = [](const char* framework, const char* precision) {
    return large({{"/jobs/0/framework", framework}, {"/jobs/0/precision", precision}})
        .jobs.front()
        .transformer->step.memory.state.optimizer;
  };
  CHECK(state("nemo", "bf16") == 12);
  CHECK(state("nemo-1", "bf16") == 10);
  CHECK(state("nemo-1", "fp8") == 10);
  CHECK(state("nemo-1", "fp16") == 12);
}

TEST_CASE("FSDP's shards are the master weights, and its root's parameters stay gathered",
          "[large]")
{
  const auto memory = [](const char* framework, const char* zero) {
    return large({{"/jobs/0/framework", framework},
                  {"/jobs/0/parallel", zero},
                  {"/jobs/0/global_batch", "8"}})
        .jobs.front()
        .transformer->step.memory;
  };
  const auto shards = memory("\"torchtitan\"", R"({"zero": 3})");
  CHECK(shards.weight() + shards.state.gradient + shards.state.optimizer == 16);
  const auto deepspeed = memory("\"deepspeed\"", R"({"zero": 3})");
  CHECK(deepspeed.weight() == 2);
  CHECK(!deepspeed.state.root);
  CHECK(memory("\"torchtitan\"", R"({"zero": 1})").weight() == 2);
  // Embedding and logits of Llama 3 8B in 16 bits, beside the layers.
  auto none = shards;
  none.state.root = false;
  CHECK((models::stage_memory(shards).front().other - models::stage_memory(none).front().other)
            .value() == Approx(2 * 2 * 128256 * 4096.0));
}

TEST_CASE("DeepSpeed adds up gradients of bf16 weights in fp32, up to ZeRO 1", "[large]")
{
  const auto gradient = [](const char* precision, const char* zero) {
    return large({{"/jobs/0/framework", "deepspeed"},
                  {"/jobs/0/precision", precision},
                  {"/jobs/0/parallel/zero", zero}})
        .jobs.front()
        .transformer->step.memory.state.gradient;
  };
  CHECK(gradient("fp16", "1") == 2);
  CHECK(gradient("bf16", "1") == 2 + 4); // a micro-batch's and their sum
  CHECK(gradient("bf16", "0") == 2 + 4);
  CHECK(gradient("bf16", "2") == 2);
}

TEST_CASE("frozen weights in fp8 want products in fp8", "[large]")
{
  const char* const lora = R"({"rank": 16, "weights": "fp8"})";
  CHECK_THROWS_WITH(large({{"/jobs/0/lora", lora}}), Catch::Contains("\"precision\": \"fp8\""));
  const auto kept = [&](const char* precision) {
    return large({{"/jobs/0/lora", lora}, {"/jobs/0/precision", precision}})
        .jobs.front()
        .transformer->step.memory;
  };
  CHECK(kept("fp8").state.frozen == 1);
  CHECK(kept("fp8").fp8_kept == models::Fp8Kept::inputs);
}

TEST_CASE("modules to repeat want selective recomputation", "[large]")
{
  CHECK_THROWS_WITH(large({{"/jobs/0/recompute_modules", R"(["mlp"])"}}),
                    Catch::Contains("\"recompute\": \"selective\""));
  CHECK_THROWS_WITH(
      large({{"/jobs/0/recompute", "selective"}, {"/jobs/0/recompute_modules", R"(["mpl"])"}}),
      Catch::Contains("mlp"));
  CHECK_THROWS_WITH(large({{"/jobs/0/lora", R"({"rank": 16, "targets": ["q_proj"]})"}}),
                    Catch::Contains("linear_qkv"));
}

TEST_CASE("what a plan has no use for is refused by name", "[large]")
{
  const auto with = [](const char* key, const char* value) {
    return [=] { large({{std::string("/jobs/0/") + key, value}}); };
  };
  CHECK_THROWS_WITH(
      with("parallel", R"({"tensor": 2, "pipeline": 2, "zero": 1, "schedule": "interleaved"})")(),
      Catch::Contains("virtual_stages is 1") && Catch::Contains("1f1b"));
  CHECK_NOTHROW(
      with("parallel", R"({"tensor": 2, "pipeline": 2, "zero": 1, "schedule": "1f1b"})")());
  CHECK_THROWS_WITH(with("parallel", R"({"tensor": 2, "zero": 2, "shard": "node"})")(),
                    Catch::Contains("zero 1 or 3") && Catch::Contains("leave shard out"));
  CHECK_THROWS_WITH(with("parallel", R"({"expert": 2, "zero": 1, "shard": "node"})")(),
                    Catch::Contains("experts have no such shards"));
  CHECK_NOTHROW(with("parallel", R"({"tensor": 2, "zero": 1, "shard": "node"})")());
  CHECK_NOTHROW(with("parallel", R"({"tensor": 2, "zero": 3, "shard": "node"})")());
  CHECK_THROWS_WITH(with("parallel", R"({"tensor": 2, "zero": 1, "expert_tensor": 2})")(),
                    Catch::Contains("no experts"));
  const auto repeating = [](const char* modules) {
    return large({{"/jobs/0/recompute", "selective"}, {"/jobs/0/recompute_modules", modules}});
  };
  CHECK_THROWS_WITH(repeating(R"(["moe_act"])"), Catch::Contains("no experts"));
  CHECK_THROWS_WITH(repeating(R"(["shared_experts"])"), Catch::Contains("no shared experts"));
  CHECK_THROWS_WITH(repeating(R"(["mla_up_proj"])"), Catch::Contains("no latent attention"));
  CHECK(repeating(R"(["mlp"])").jobs.front().warnings.empty());
  CHECK_THROWS_WITH(large({{"/jobs/0/model", "qwen3-30b-a3b"},
                           {"/jobs/0/recompute", "selective"},
                           {"/jobs/0/recompute_modules", R"(["mlp"])"}}),
                    Catch::Contains("has 'mlp', and the model has no dense layer"));
  const auto told = large({{"/jobs/0/recompute", "selective"}}).jobs.front().warnings;
  REQUIRE(told.size() == 1);
  CHECK_THAT(told.front(),
             Catch::Contains("flash attention") && Catch::Contains("recompute_modules"));
}

TEST_CASE("layers that are treated otherwise reach the step by their keys", "[large]")
{
  const auto memory = [](const std::vector<std::pair<std::string, std::string>>& settings) {
    return large(settings).jobs.front().transformer->step.memory;
  };
  const auto full = memory({{"/jobs/0/recompute", "full"}, {"/jobs/0/recompute_layers", "5"}});
  CHECK(full.treatments.repeated == 5);
  const auto wide =
      memory({{"/jobs/0/precision", "fp8"}, {"/jobs/0/bf16_layers", R"({"first": 1, "last": 3})"}});
  CHECK(wide.treatments.wide_first == 1);
  CHECK(wide.treatments.wide_last == 3);
  CHECK(memory({{"/jobs/0/offload_activations", "4"}}).treatments.away == 4);
  CHECK_THROWS_WITH(large({{"/jobs/0/recompute_layers", "5"}}),
                    Catch::Contains("\"recompute\": \"full\""));
  CHECK_THROWS_WITH(large({{"/jobs/0/bf16_layers", R"({"last": 3})"}}),
                    Catch::Contains("they are 'bf16'"));
  CHECK_THROWS_WITH(
      large({{"/jobs/0/precision", "fp8"}, {"/jobs/0/bf16_layers", R"({"first": 30, "last": 3})"}}),
      Catch::Contains("33 of 32 layers"));
  CHECK_THROWS_WITH(large({{"/jobs/0/offload_activations", "33"}}),
                    Catch::Contains("no stage has more than 32 layers"));
  const char* const stages = R"({"pipeline": 4, "virtual_stages": 2, "zero": 1})";
  CHECK_THROWS_WITH(large({{"/jobs/0/parallel", stages},
                           {"/jobs/0/recompute", "full"},
                           {"/jobs/0/recompute_layers", "5"}}),
                    Catch::Contains("no piece of a stage has more than 4") &&
                        Catch::Contains("at most 4"));
}

TEST_CASE("what is offloaded and does not fit into main memory is told", "[large]")
{
  const auto warnings = [](const char* share) {
    return large({{"/jobs/0/model", "llama-3.1-405b"},
                  {"/jobs/0/gpus", "8"},
                  {"/jobs/0/parallel", R"({"tensor": 8, "zero": 1})"},
                  {"/jobs/0/offload", share}})
        .jobs.front()
        .warnings;
  };
  // 405 billion x 18 bytes on a node of 2 TB.
  CHECK_THAT(warnings("1").front(),
             Catch::Contains("needs 7.306 TB") && Catch::Contains("of main memory on each node"));
  for (const std::string& one : warnings("0.1"))
    CHECK_THAT(one, !Catch::Contains("main memory"));
}

TEST_CASE("routing says what the fullest GPU gets and what is left out", "[large]")
{
  const auto step = [](const char* routing) {
    return large({{"/jobs/0/model", "mixtral-8x7b"},
                  {"/jobs/0/parallel", R"({"expert": 8, "zero": 1})"},
                  {"/jobs/0/routing", routing}})
        .jobs.front()
        .transformer->step;
  };
  CHECK(step(R"({"imbalance": 1.5})").memory.expert_load == 1.5);
  CHECK(step(R"({"imbalance": 1.5})").rules.dropless);
  CHECK(step(R"({"imbalance": 1.5, "capacity": 1.25})").memory.expert_load == 1.25);
  CHECK(step(R"({"imbalance": 1.1, "capacity": 1.25})").memory.expert_load == 1.1);
  CHECK_FALSE(step(R"({"imbalance": 1.1, "capacity": 1.25})").rules.dropless);
  CHECK(step(R"({"capacity": 1.25, "padded": true})").memory.expert_load == 1.25);
  CHECK_THROWS_WITH(step(R"({"padded": true})"), Catch::Contains("capacity"));
  CHECK_THROWS_WITH(large({{"/jobs/0/routing", R"({"imbalance": 2})"}}),
                    Catch::Contains("the model has none"));
}

TEST_CASE("the fullest of n GPUs gets at most n times the mean, and experts / top-k",
          "[large][closed-form]")
{
  const auto with = [](const char* expert, const char* imbalance) {
    return large({{"/jobs/0/model", "mixtral-8x7b"}, // two of eight experts
                  {"/jobs/0/parallel", fmt::format(R"({{"expert": {}, "zero": 1}})", expert)},
                  {"/jobs/0/routing", fmt::format(R"({{"imbalance": {}}})", imbalance)}})
        .jobs.front();
  };
  CHECK(with("2", "2").transformer->step.memory.expert_load == 2);
  CHECK_THROWS_WITH(with("2", "2.1"), Catch::Contains("/jobs/0/routing/imbalance is 2.1, and the "
                                                      "fullest of 2 GPUs gets at most 2 times"));
  CHECK(with("8", "4").transformer->step.memory.expert_load == 4);
  CHECK_THROWS_WITH(with("8", "4.1"), Catch::Contains("at most 4 times the mean: a token goes to 2 "
                                                      "of 8 experts"));
  // Where every GPU has all of them it means nothing, and that is told.
  const auto alone = with("1", "3");
  CHECK(alone.transformer->step.memory.expert_load == 1);
  CHECK(std::ranges::any_of(alone.warnings, [](const std::string& warning) {
    return warning.find("\"imbalance\" has no influence: expert is 1") != std::string::npos;
  }));
  CHECK_THROWS_WITH(with("1", "4.1"), Catch::Contains("at most 4"));
}

TEST_CASE("what experts leave out is no model FLOP, and is told", "[large][closed-form]")
{
  const auto take = [](const char* routing) {
    return large({{"/jobs/0/model", "mixtral-8x7b"},
                  {"/jobs/0/parallel", R"({"expert": 8, "zero": 1})"},
                  {"/jobs/0/routing", routing}})
        .jobs.front();
  };
  const auto share = [&](const char* routing) {
    return take(routing).transformer->step.memory.experts_take;
  };
  CHECK(share("{}") == 1);
  CHECK(share(R"({"imbalance": 3})") == 1);
  CHECK(share(R"({"capacity": 1.25, "padded": true})") == 1);
  CHECK(share(R"({"capacity": 0.25})") == Approx(0.25));
  // The fullest has 3 of 8 and takes 1.5; seven have 5 / 7 each.
  CHECK(share(R"({"imbalance": 3, "capacity": 1.5})") == Approx((1.5 + 5) / 8));
  CHECK(share(R"({"imbalance": 3, "capacity": 0.5})") == Approx(0.5));
  const auto half = take(R"({"capacity": 0.5})");
  CHECK(std::ranges::any_of(half.warnings, [](const std::string& warning) {
    return warning.find("leave out 50 % of what goes to them") != std::string::npos;
  }));
  const auto flops = [&](const char* routing) {
    return experiments::token_work(take(routing).transformer->step).flops.full.value();
  };
  const models::Transformer& t = half.transformer->step.memory.model;
  const double tokens = 240.0 * half.transformer->step.memory.batch.sequence;
  CHECK(flops("{}") - flops(R"({"capacity": 0.5})") ==
        Approx(tokens * 6 * 0.5 * models::parameters(t).experts * 2 / 8));
}

TEST_CASE("Muon has a state of four bytes for matrices and works on whole gradients", "[large]")
{
  const auto with = [](const char* key, const char* value) {
    return large({{"/jobs/0/optimizer", "muon"}, {std::string("/jobs/0/") + key, value}})
        .jobs.front()
        .transformer->step;
  };
  const auto step = with("gpus", "8");
  CHECK(step.newton_schulz == 5);
  CHECK(step.memory.state.optimizer == 8); // with the master copy
  CHECK(step.memory.state.table_more == 4);
  CHECK_THROWS_WITH(with("parallel", R"({"tensor": 2, "zero": 2})"),
                    Catch::Contains("whole gradients") && Catch::Contains("at most 1"));
  CHECK_THROWS_WITH(with("offload", "0.5"), Catch::Contains("leave offload out"));
  CHECK_THROWS_WITH(with("lora", R"({"rank": 16})"), Catch::Contains("adamw"));
  CHECK_THROWS_WITH(run_text(R"({"cluster": {"platform": "hgx-h100"}, "jobs": [{
    "model": "resnet50", "framework": "pytorch-ddp", "batch_per_gpu": 8, "optimizer": "muon"}]})"),
                    Catch::Contains("/jobs/0/optimizer") && Catch::Contains("transformers alone"));
}

TEST_CASE("frozen weights of four bits are made 16 of", "[large]")
{
  const char* const lora = R"({"rank": 16, "weights": "nf4"})";
  CHECK(large({{"/jobs/0/lora", lora}}).jobs.front().transformer->step.memory.state.frozen ==
        models::kNf4Bytes);
  CHECK_THROWS_WITH(large({{"/jobs/0/lora", lora}, {"/jobs/0/precision", "fp8"}}),
                    Catch::Contains("\"precision\": \"bf16\""));
}

TEST_CASE("how context-parallel GPUs exchange is refused where it has no use", "[large]")
{
  const auto with = [](const char* plan) { large({{"/jobs/0/parallel", plan}}); };
  CHECK_NOTHROW(with(R"({"tensor": 2, "context": 4, "context_heads": 4})"));
  CHECK_NOTHROW(with(R"({"tensor": 2, "context": 4, "context_exchange": "all-gather"})"));
  CHECK_THROWS_WITH(with(R"({"tensor": 2, "context_exchange": "all-gather"})"),
                    Catch::Contains("context is 1"));
  CHECK_THROWS_WITH(with(R"({"tensor": 2, "context": 4, "context_heads": 3})"),
                    Catch::Contains("does not divide the 4 context-parallel GPUs"));
  CHECK_THROWS_WITH(with(R"({"tensor": 4, "context": 4, "context_heads": 4})"),
                    Catch::Contains("8 heads of keys") && Catch::Contains("nearest"));
  CHECK_THROWS_WITH(with(R"({"context": 4, "context_heads": 2, "context_exchange": "all-gather"})"),
                    Catch::Contains("leaves heads where they are"));
}

TEST_CASE("schedules that come back have two pieces on each stage, and room to turn", "[large]")
{
  const auto plan = [](const char* parallel, const char* batch = "240") {
    return large({{"/jobs/0/parallel", parallel}, {"/jobs/0/global_batch", batch}})
        .jobs.front()
        .transformer->step.memory.plan;
  };
  CHECK(plan(R"({"pipeline": 4, "schedule": "zb-v"})").virtual_stages == 2);
  CHECK(plan(R"({"pipeline": 4, "schedule": "dualpipe-v"})").virtual_stages == 2);
  CHECK_THROWS_WITH(plan(R"({"pipeline": 4, "virtual_stages": 4, "schedule": "zb-v"})"),
                    Catch::Contains("virtual_stages 4") && Catch::Contains("leave"));
  CHECK_THROWS_WITH(plan(R"({"schedule": "zb-v"})"), Catch::Contains("pipeline is 1"));
  CHECK_THROWS_WITH(plan(R"({"pipeline": 4, "schedule": "dualpipe-v"})", "8"),
                    Catch::Contains("twice as many micro-batches") && Catch::Contains("zb-v"));
  CHECK_NOTHROW(plan(R"({"pipeline": 4, "schedule": "zb-v"})", "6")); // not in turns of stages
  CHECK_THROWS_WITH(plan(R"({"pipeline": 4, "schedule": "dualpipe"})"),
                    Catch::Contains("dualpipe-v"));
}

TEST_CASE("each group's exposed exchanges are its own", "[large][long]")
{
  // Tensor-parallel exchanges are hidden in part, as are those of the ring: alone and together.
  const auto exposed = [](const char* plan) {
    return run_text(kJob, {{"/jobs/0/gpus", "16"},
                           {"/jobs/0/sequence", "16384"},
                           {"/jobs/0/global_batch", "32"},
                           {"/jobs/0/parallel", plan}})
        .jobs[0]
        .exposed_by_group;
  };
  const auto ring = exposed(R"({"tensor": 2, "sequence_parallel": true, "context": 4})");
  const auto gathered = exposed(
      R"({"tensor": 2, "sequence_parallel": true, "context": 4, "context_exchange": "all-gather"})");
  const auto of = [](const auto& groups, const std::string& name) {
    for (const auto& group : groups)
      if (group.group == name)
        return group.time.value();
    return -1.0;
  };
  CHECK(of(ring, "tensor") == Approx(of(gathered, "tensor")).epsilon(1e-6));
  CHECK(of(gathered, "context") > of(ring, "context"));
}

TEST_CASE("a transformer runs beside other jobs as it does alone", "[large][property][long]")
{
  const auto run = [](const std::string& transformer, const std::string& beside) {
    return run_text(R"({"cluster": {"platform": "dgx1-v100", "nodes": 1},
      "jobs": [{"model": "gpt2-small", "framework": "pytorch-ddp", "precision": "fp16",
                "batch_per_gpu": 8, "gpus": 4)" +
                    transformer + "}" + beside + "]}");
  };
  const std::string beside = R"(, {"name": "b", "model": "resnet50", "framework": "pytorch-ddp",
      "precision": "fp16", "batch_per_gpu": 64, "gpus": 2})";
  const auto alone = run("", "").jobs[0];
  const auto together = run("", beside);
  REQUIRE(together.jobs.size() == 2);
  const auto& shared = together.jobs[0];
  CHECK(shared.step_time.median == Approx(alone.step_time.median).epsilon(0.01));
  CHECK(shared.memory.needed == alone.memory.needed);
  CHECK(shared.gpus == 4);
  // Its kernels are as uncertain as beside nothing.
  CHECK(shared.throughput.high / shared.throughput.low > 1.3);
  CHECK(run(R"(, "kernel_time": 1.5)", beside).jobs[0].time.compute > 1.4 * shared.time.compute);
  CHECK(run(R"(, "kernel_time": 1.5)", "").jobs[0].time.compute > 1.4 * alone.time.compute);
}

TEST_CASE("another optimizer's state is kept, read and written instead of Adam's", "[large]")
{
  const auto with = [](const std::string& optimizer) {
    return large({{"/jobs/0/optimizer", '"' + optimizer + '"'}}).jobs.front().transformer->step;
  };
  const models::StepSetting adam = with("adamw");
  for (const auto& [name, bytes] :
       {std::pair{"adamw-bf16", 4.0}, std::pair{"adamw-8bit", 2 + 8.0 / 256},
        std::pair{"adafactor", 0.0}, std::pair{"lamb", 8.0}}) {
    CAPTURE(name);
    const models::StepSetting other = with(name);
    CHECK(adam.memory.state.optimizer - other.memory.state.optimizer == Approx(8 - bytes));
    CHECK(adam.rules.optimizer_bytes - other.rules.optimizer_bytes == Approx(2 * (8 - bytes)));
  }
  // A framework that moves less than Adam's state leaves nothing to move without one.
  const std::string framework = R"({"extends": "nemo", "transformer": {"optimizer_bytes": 10}})";
  CHECK(large({{"/jobs/0/optimizer", R"("adafactor")"}, {"/jobs/0/framework", framework}})
            .jobs.front()
            .transformer->step.rules.optimizer_bytes == 0);
}

TEST_CASE("kernels of a scan make a hybrid's time less sure", "[large]")
{
  const auto spread = [](const std::string& model) {
    return experiments::kernel_spread(
        *large({{"/jobs/0/model", '"' + model + '"'}}).jobs.front().transformer);
  };
  const double usual = spread("llama-3-8b");
  CHECK(std::hypot(usual, 0.08) == Approx(spread("nemotron-h-8b")));
}

TEST_CASE("FlashAttention-2 loses as much with heads of 64 on an H100 as on an A100", "[large]")
{
  const auto attention = [](const char* platform, const char* kernel) {
    return large({{"/cluster/platform", platform},
                  {"/jobs/0/framework",
                   std::string(R"({"extends": "nemo", "transformer": {"attention": ")") + kernel +
                       R"("}})"}})
        .jobs.front()
        .transformer->step.device.attention;
  };
  const double on_a100 = attention("dgx-a100-80gb", "measured").small_head;
  CHECK(attention("dgx-a100-80gb", "flash-2").small_head == on_a100);
  CHECK(attention("hgx-h100", "flash-2").small_head == on_a100);
  CHECK(attention("hgx-h100", "triton").small_head == on_a100);
  CHECK(attention("hgx-h100", "measured").small_head < on_a100);
}

TEST_CASE("nanotron keeps what its activation makes, other presets that fuse it do not", "[large]")
{
  const auto step = [](const char* framework) {
    return large({{"/jobs/0/framework", framework}}).jobs.front().transformer->step;
  };
  CHECK(step("nanotron").memory.separate_gate);
  CHECK(step("nanotron").rules.copied_heads);
  CHECK_FALSE(step("nemo").memory.separate_gate);
  CHECK(step("pytorch-fsdp").memory.separate_gate); // element by element
}

TEST_CASE("what does not fit is told the cheapest plan that does", "[large]")
{
  const auto advice = [](const char* zero, const char* micro_batch) {
    const auto warnings = large({{"/jobs/0/gpus", "32"},
                                 {"/jobs/0/global_batch", "256"},
                                 {"/jobs/0/micro_batch", micro_batch},
                                 {"/jobs/0/parallel/tensor", "1"},
                                 {"/jobs/0/parallel/zero", zero}})
                              .jobs.front()
                              .warnings;
    return warnings.empty() ? "" : warnings.front();
  };
  // Sharing the optimizer's state out costs next to nothing: it comes first, and alone.
  CHECK_THAT(advice("0", "1"), Catch::EndsWith("this would fit: \"zero\": 1"));
  CHECK_THAT(advice("1", "8"), Catch::Contains("this would fit: \"recompute\": "));
  CHECK_THAT(advice("0", "8"), Catch::Contains("this would fit: \"zero\": 1, \"recompute\": "));
  // What the framework has not is no advice; and what is, fits as it is told.
  const auto fits = [](std::vector<std::pair<std::string, std::string>> settings,
                       const std::vector<std::pair<std::string, std::string>>& advised) {
    for (const auto& it : advised)
      settings.push_back(it);
    return large(settings).jobs.front().warnings;
  };
  const std::vector<std::pair<std::string, std::string>> small{
      {"/jobs/0/model", "llama-2-13b"},
      {"/jobs/0/framework", "megatron"},
      {"/jobs/0/gpus", "16"},
      {"/jobs/0/global_batch", "64"},
      {"/jobs/0/sequence", "4096"},
      {"/jobs/0/micro_batch", "1"},
      {"/jobs/0/parallel", R"({"zero": 1})"}};
  const std::string tensors = "\"tensor\": 2, \"sequence_parallel\": true";
  CHECK_THAT(fits(small, {}).front(), Catch::EndsWith("this would fit: " + tensors));
  for (const std::string& warning :
       fits(small, {{"/jobs/0/parallel", "{" + tensors + R"(, "zero": 1})"}}))
    CHECK_THAT(warning, !Catch::Contains("does not fit"));
  // A stage that the framework has not, as it was asked for, is kept.
  auto odd = small;
  odd[0].second = "llama-3-70b";
  odd[4].second = "8192";
  odd[6].second = R"({"zero": 3, "tensor": 2, "pipeline": 2, "sequence_parallel": false})";
  CHECK_THAT(fits(odd, {}).at(1), Catch::EndsWith("this would fit: \"tensor\": 8, "
                                                  "\"sequence_parallel\": true, "
                                                  "\"recompute\": \"full\""));
  // Where neither sharing nor tensors are enough, both may be.
  const auto both = large({{"/jobs/0/model", "llama-3-70b"},
                           {"/jobs/0/gpus", "64"},
                           {"/jobs/0/global_batch", "256"},
                           {"/jobs/0/sequence", "32768"},
                           {"/jobs/0/micro_batch", "1"},
                           {"/jobs/0/parallel", "{}"}})
                        .jobs.front()
                        .warnings;
  CHECK_THAT(
      both.front(),
      Catch::Contains(
          "\"tensor\": 8, \"sequence_parallel\": true, \"zero\": 1, \"recompute\": \"full\""));
}

} // namespace foretrain::large_job_test
