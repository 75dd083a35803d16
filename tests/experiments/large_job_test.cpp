// Jobs of large models, from their keys to what is simulated.
#include "experiments/spec/large_job.hpp"
#include "tests/experiments/point.hpp"

#include "tests/support/catch.hpp"

using namespace foretrain;
using namespace foretrain::test;
using experiments::resolve_large;

namespace {

const char* const kJob = R"({
  "cluster": {"platform": "hgx-h100"},
  "jobs": [{"model": "llama-3-8b", "framework": "nemo", "precision": "bf16", "gpus": 8,
            "global_batch": 240, "parallel": {"tensor": 2, "zero": 1}}]})";

experiments::LargeExperiment large(const std::vector<std::pair<std::string, std::string>>& settings)
{
  auto document = parse_document(kJob, "test");
  for (const auto& [pointer, value] : settings)
    set_value(*document, pointer, value);
  experiments::Point point;
  point.document = document;
  return resolve_large(point);
}

} // namespace

TEST_CASE("a large job has equally many GPUs on each of its nodes", "[large]")
{
  const auto share = [](int gpus, const char* nodes = nullptr) {
    std::vector<std::pair<std::string, std::string>> settings{
        {"/jobs/0/gpus", std::to_string(gpus)}};
    if (nodes != nullptr)
      settings.emplace_back("/cluster/nodes", nodes);
    return large(settings).gpus_per_node;
  };
  CHECK(share(4) == 4);
  CHECK(share(16) == 8);
  CHECK(share(12) == 6);      // 6 and 6, not 8 and 4
  CHECK(share(24, "6") == 8); // on as few nodes as can be
  // Pairs of tensor-parallel GPUs stay on a node: five each would cut one.
  CHECK(share(10) == 8);
  CHECK(share(10, "5") == 2);
}

TEST_CASE("adapters make a step shorter and its memory smaller", "[large]")
{
  const auto job = [](const std::vector<std::pair<std::string, std::string>>& settings) {
    return run_text(kJob, settings).jobs[0];
  };
  const auto all = job({});
  const auto adapted = job({{"/jobs/0/lora", R"({"rank": 16})"}});
  CHECK(adapted.step_time.median < 0.8 * all.step_time.median);
  CHECK(adapted.memory.needed < all.memory.needed);
  // Two thirds of the arithmetic, and little more.
  CHECK(adapted.tokens->flops.full < 0.68 * all.tokens->flops.full);
  CHECK(adapted.tokens->flops.full > 0.66 * all.tokens->flops.full);
  const auto repeated =
      job({{"/jobs/0/recompute", "selective"}, {"/jobs/0/recompute_modules", R"(["mlp"])"}});
  CHECK(repeated.time.recompute.value() > 0);
  CHECK(repeated.memory.needed < all.memory.needed);
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
