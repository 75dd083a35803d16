// Divided transformers beside other jobs.
#include "tests/experiments/point.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>

namespace foretrain::experiments::divided_job_test {

namespace {

using test::run_text;

PointResult on(const std::string& platform, int nodes, const std::string& jobs)
{
  return run_text(R"({"cluster": {"platform": ")" + platform + R"(", "nodes": )" +
                  std::to_string(nodes) + R"(}, "jobs": [)" + jobs + "]}");
}

const std::string kBeside = R"(, {"name": "b", "model": "resnet50", "framework": "pytorch-ddp",
    "precision": "fp16", "batch_per_gpu": 64, "gpus": 4})";

std::string transformer(const std::string& rest)
{
  return R"({"name": "a", "model": "gpt3-1.7b", "framework": "megatron", "precision": "fp16",
      "steps": 3, )" +
         rest + "}";
}

} // namespace

TEST_CASE("a divided transformer takes beside others what it takes alone",
          "[large][property][many]")
{
  for (const char* plan :
       {R"("gpus": 8, "global_batch": 32, "parallel": {"tensor": 4})",
        R"("gpus": 8, "global_batch": 32, "parallel": {"tensor": 2, "pipeline": 2, "zero": 1})",
        R"("gpus": 8, "global_batch": 16, "parallel": {"zero": 3}, "recompute": "full")",
        R"("gpus": 8, "global_batch": 32, "parallel": {"pipeline": 4,
           "schedule": "interleaved", "virtual_stages": 3})"}) {
    const std::string job = transformer(plan);
    const auto composed = on("c4140-m-v100-sxm2", 3, job).jobs[0];
    // The other job has a node of its own.
    const auto beside = on("c4140-m-v100-sxm2", 3, job + kBeside);
    INFO(plan);
    REQUIRE(beside.jobs.size() == 2);
    CHECK(beside.jobs[0].step_time.median == Approx(composed.step_time.median).epsilon(1e-9));
    CHECK(beside.jobs[0].memory.needed == composed.memory.needed);
    CHECK(beside.jobs[0].time.total().value() ==
          Approx(beside.jobs[0].step_time.median).epsilon(1e-6));
    CHECK(beside.jobs[0].tokens->samples_per_step == composed.tokens->samples_per_step);
    CHECK(*beside.jobs[0].slowdown == Approx(1).epsilon(1e-9));
  }
}

TEST_CASE("of a divided transformer what limits it has a name", "[large][long]")
{
  const auto named = [](const std::string& plan) {
    return on("c4140-m-v100-sxm2", 3, transformer(plan) + kBeside).jobs[0].bottleneck;
  };
  const Bottleneck few = named(R"("gpus": 8, "global_batch": 2, "parallel": {"pipeline": 8})");
  CHECK(few.resource == "bubble");
  CHECK_THAT(few.why, Catch::Contains("waits for other stages"));
  const Bottleneck many =
      named(R"("gpus": 8, "global_batch": 64, "parallel": {"pipeline": 2}, "recompute": "full")");
  CHECK(many.resource == "node1/gpu0/compute"); // the stage of the logits
  CHECK(many.name == "GPUs");
  CHECK_THAT(many.why, Catch::Contains("of it what was not kept"));
}

TEST_CASE("where nothing varies a transformer takes as long beside others", "[large][many]")
{
  // Stages of four GPUs with eight in a node: every other transfer leaves the node.
  const std::string steady = R"({"extends": "hgx-h100", "node": {"gpus": {"type":
      {"extends": "h100-sxm5-80gb", "speed_variation": 0}}}})";
  const auto step = [&](const std::string& plan, const std::string& beside) {
    return run_text(R"({"cluster": {"platform": )" + steady +
                    R"(, "nodes": 3}, "jobs": [{"name": "a", "model": "gpt3-1.7b", "gpus": 16,
        "precision": "bf16", "framework": {"extends": "megatron", "step_variation": 0},
        "global_batch": 32, "steps": 2, "parallel": {)" +
                    plan + "}}" + beside + "]}")
        .jobs[0]
        .step_time.median;
  };
  for (const char* plan :
       {R"("pipeline": 4)", R"("pipeline": 4, "tensor": 2)",
        R"("pipeline": 4, "schedule": "interleaved", "virtual_stages": 3)",
        R"("pipeline": 2, "schedule": "zero-bubble", "zero": 1)", R"("zero": 3)"}) {
    INFO(plan);
    CHECK(step(plan, kBeside) == Approx(step(plan, "")).epsilon(1e-9));
  }
}

TEST_CASE("processes of a stage share the cores of their nodes, however many it stands for",
          "[large][closed-form][long]")
{
  const auto step = [](const std::string& plan, int gpus, int cores) {
    return run_text(fmt::format(R"({{"cluster": {{"platform": "hgx-h100"}}, "jobs": [{{
        "model": "gpt3-1.7b", "precision": "bf16", "gpus": {0}, "global_batch": {0}, "steps": 1,
        "framework": {{"extends": "megatron", "step_variation": 0}}, "cores": {1},
        "parallel": {{{2}}}}}]}})",
                                gpus, cores, plan))
        .jobs[0]
        .step_time.median;
  };
  const auto slowed = [&](const std::string& plan, int gpus) {
    const double free = step(plan, gpus, 8);
    return std::pair(step(plan, gpus, 4) - free, step(plan, gpus, 1) - free);
  };
  // Eight processes that keep a core busy each: kernels take 8 / cores as long, exchanges as
  // before.
  for (const auto& [plan, gpus] : {std::pair(R"("tensor": 8)", 8), std::pair(R"("tensor": 8)", 16),
                                   std::pair(R"("zero": 1)", 8), std::pair(R"("zero": 1)", 16),
                                   std::pair(R"("tensor": 8, "pipeline": 2)", 16)}) {
    INFO(plan << " on " << gpus);
    const auto [half, eighth] = slowed(plan, gpus);
    CHECK(half > 0.2 * step(plan, gpus, 8));
    CHECK(eighth == Approx(7 * half).epsilon(0.02));
  }
}

TEST_CASE("a divided transformer and another job take bandwidth from each other", "[large][long]")
{
  // Half of two nodes each: gradients of both leave by the same adapter.
  const auto places = [](int first) {
    return fmt::format(R"("placement": [[0, {0}], [0, {1}], [1, {0}], [1, {1}]])", first,
                       first + 1);
  };
  const std::string divided =
      transformer(R"("gpus": 4, "global_batch": 4, "parallel": {"zero": 3}, )" + places(0));
  const std::string other = R"(, {"name": "b", "model": "vgg16", "framework": "pytorch-ddp",
      "precision": "fp16", "batch_per_gpu": 8, )" +
                            places(2) + "}";
  const auto both = on("c4140-m-v100-sxm2", 2, divided + other);
  CHECK(*both.jobs[0].slowdown > 1.05);
  CHECK(*both.jobs[1].slowdown > 1.05);
  REQUIRE(both.jobs[0].meeting);
  CHECK(both.jobs[0].uncertainty->method == "linear");
}

TEST_CASE("a divided transformer waits for its groups wherever others are in their way",
          "[large][many]")
{
  // Two tensor-parallel groups, over two nodes each. Node 0 has a job of one GPU, which disturbs
  // nobody; one on nodes 2 and 3 exchanges gradients all the time.
  const std::string divided = transformer(
      R"("gpus": 8, "global_batch": 8, "parallel": {"tensor": 4}, "placement":
         [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1], [3, 0], [3, 1]])");
  const std::string quiet = R"(, {"name": "q", "model": "resnet50", "framework": "pytorch-ddp",
      "precision": "fp16", "batch_per_gpu": 64, "placement": [[0, 2]]})";
  const std::string loud = R"(, {"name": "l", "model": "vgg16", "framework": "pytorch-ddp",
      "precision": "fp16", "batch_per_gpu": 1, "placement": [[2, 2], [3, 2]]})";
  CHECK_THAT(*on("c4140-v100-pcie", 4, divided + quiet).jobs[0].slowdown, test::is(1));
  CHECK(*on("c4140-v100-pcie", 4, divided + quiet + loud).jobs[0].slowdown > 1.05);
}

TEST_CASE("a divided transformer meets whatever others send on its links", "[large][long]")
{
  // Its two groups lie over both nodes, and everything of a node passes the same root port.
  const std::string divided = transformer(
      R"("gpus": 4, "global_batch": 8, "parallel": {"tensor": 2}, "placement":
         [[0, 0], [1, 0], [0, 1], [1, 1]])");
  const auto slowdown = [&](const std::string& neighbour) {
    return *on("c4140-v100-pcie", 2, divided + ", {\"name\": \"n\", " + neighbour + "}")
                .jobs[0]
                .slowdown;
  };
  const std::string image = R"("model": "resnet50", "precision": "fp16", "batch_per_gpu": 64, )";
  const std::string text = R"("model": "gpt3-1.7b", "precision": "fp16", "steps": 2, )";
  CHECK_THAT(slowdown(image + R"("framework": "pytorch-ddp", "placement": [[0, 3]])"), test::is(1));
  for (const std::string& neighbour :
       {image + R"("framework": "pytorch-ddp", "placement": [[0, 3]], "input": {"dataset":
                   "imagenet", "format": "jpeg", "cache": "warm"})",
        image + R"("framework": "pytorch-ddp", "placement": [[0, 3], [1, 3]])",
        image + R"("framework": "tensorflow-ps", "placement": [[0, 3], [1, 3]])",
        text + R"("framework": "megatron", "placement": [[0, 3]], "gpus": 1, "global_batch": 1,
                  "offload_activations": 10)",
        text + R"("framework": "megatron", "placement": [[0, 3], [1, 3]], "gpus": 2,
                  "global_batch": 8, "parallel": {"pipeline": 2})"}) {
    INFO(neighbour);
    CHECK(slowdown(neighbour) > 1.0005);
  }
}

} // namespace foretrain::experiments::divided_job_test
