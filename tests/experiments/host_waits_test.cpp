// GPUs of large models that wait for their hosts: which part of the step that is, and what betters
// it.
#include "tests/experiments/point.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::host_waits_test {

using namespace foretrain::test;
using experiments::JobResult;

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

JobResult run(const char* text, const Settings& settings)
{
  return run_text(text, settings).jobs[0];
}

const char* const kExperts = R"({
  "cluster": {"platform": "hgx-h100"},
  "jobs": [{"model": "qwen3-30b-a3b", "framework": "nemo", "precision": "bf16", "gpus": 16,
            "sequence": 1024, "global_batch": 16, "parallel": {"expert": 8, "zero": 1}}]})";

const char* const kOffloaded = R"({
  "cluster": {"platform": "hgx-h100"},
  "jobs": [{"model": "llama-2-7b", "framework": "nemo", "precision": "bf16", "gpus": 16,
            "global_batch": 16, "parallel": {"pipeline": 2}, "offload": 1}]})";

} // namespace

TEST_CASE("what experts wait for their host is the framework's part", "[large][long]")
{
  const JobResult waits = run(kExperts, {});
  const JobResult none =
      run(kExperts, {{"/jobs/0/framework", R"({"extends": "nemo", "transformer": {
                       "host_per_routing": "0 s", "host_per_expert": "0 s"}})"}});
  const double longer = (waits.step_time.median - none.step_time.median);
  REQUIRE(longer > 0.3 * none.step_time.median);
  CHECK(waits.time.compute.value() == Approx(none.time.compute.value()).epsilon(0.02));
  const double idle = (waits.time.framework - none.time.framework).value();
  CHECK(idle > 0.8 * longer); // the rest stands beside exchanges
  const auto exposed = waits.time.exposed_communication - none.time.exposed_communication;
  CHECK(idle + exposed.value() == Approx(longer).epsilon(0.03));
  // A host twice as fast, and a framework with half of its overheads, halve them, and launches.
  for (const char* better : {R"({"core_speed": 2})", R"({"framework": 2})"}) {
    const JobResult quicker = run(kExperts, {{"/better", better}});
    CAPTURE(better);
    CHECK(waits.step_time.median - quicker.step_time.median > 0.45 * longer);
  }
}

TEST_CASE("an update that Python launches tensor by tensor holds up one GPU as it does two",
          "[long]")
{
  const auto bert = [](int gpus, const std::string& optimizer, int batch) {
    return run_text(R"({"cluster": {"platform": "hgx-h100"}, "jobs": [{"model": "bert-base",
        "framework": "pytorch-horovod", "precision": "fp16", "batch_per_gpu": )" +
                    std::to_string(batch) + R"(, "optimizer": ")" + optimizer + R"(", "gpus": )" +
                    std::to_string(gpus) + "}]}")
        .jobs[0];
  };
  const JobResult one = bert(1, "adam", 8), two = bert(2, "adam", 8);
  const JobResult few = bert(2, "sgd-momentum", 8);
  // 206 tensors of 210 us.
  const double host = 206 * 210e-6;
  CHECK(one.step_time.median > host);
  CHECK(two.step_time.median > one.step_time.median);
  CHECK(two.step_time.median < 1.6 * one.step_time.median);
  // GPUs wait: they do not compute.
  CHECK(two.time.framework.value() > 0.9 * host);
  CHECK(two.time.compute.value() < few.time.compute.value() + 0.01);
  // A long step hides it on one GPU, which launches ahead.
  const double beyond =
      bert(1, "adam", 512).step_time.median - bert(1, "sgd-momentum", 512).step_time.median;
  CHECK(beyond > 0);
  CHECK(beyond < 0.3 * host);
}

TEST_CASE("a quicker host launches an update sooner behind an exchange, too", "[long]")
{
  const auto bert = [](int gpus, const std::string& better, int batch = 8) {
    return run_text(R"({"cluster": {"platform": "c4140-k-v100-sxm2"}, "jobs": [{"model":
        "bert-large", "framework": "pytorch-horovod", "precision": "fp16", "gpus": )" +
                    std::to_string(gpus) + R"(, "batch_per_gpu": )" + std::to_string(batch) +
                    R"(}], "better": {)" + better + "}}")
        .jobs[0];
  };
  const double own = 398 * 210e-6; // host work of the update
  const JobResult two = bert(2, "");
  REQUIRE(two.time.framework.value() > own);
  CHECK(two.bottleneck.lever->key == std::string("framework"));
  for (const char* better : {R"("core_speed": 2)", R"("framework": 2)"}) {
    CAPTURE(better);
    const JobResult quicker = bert(2, better);
    CHECK_THAT((two.time.framework - quicker.time.framework).value(),
               Catch::Matchers::WithinRel(own / 2, 0.02));
  }
  // What passes through memory again is the GPU's: 60 bytes of 336 million parameters, at 0.6 to
  // 0.9 TB/s.
  const std::string more = R"("gpu": 1)", twice = R"("gpu": 2)";
  const Seconds passes = bert(2, more, 64).time.framework - bert(2, twice, 64).time.framework;
  CHECK(2 * passes.value() > 60 * 336e6 / 0.9e12);
  CHECK(2 * passes.value() < 60 * 336e6 / 0.6e12);
}

TEST_CASE("repeating layers of experts adds to a step, and takes nothing from its parts",
          "[large][long]")
{
  const JobResult kept = run(kExperts, {});
  REQUIRE(kept.time.framework.value() > 0.1 * kept.time.compute.value()); // the host counts
  for (const Settings& settings : {Settings{{"/jobs/0/recompute", "\"full\""}},
                                   Settings{{"/jobs/0/recompute", "\"selective\""},
                                            {"/jobs/0/recompute_modules", R"(["moe"])"}}}) {
    const JobResult repeated = run(kExperts, settings);
    CHECK_THAT(repeated.time.compute.value(),
               Catch::Matchers::WithinRel(kept.time.compute.value(), 1e-3));
    CHECK(repeated.time.recompute.value() > 0.1 * kept.time.compute.value());
    CHECK(repeated.time.recompute.value() < 0.4 * kept.time.compute.value());
  }
}

TEST_CASE("an update by hosts is the framework's part, and their memory's", "[large][long]")
{
  const JobResult away = run(kOffloaded, {});
  const JobResult here = run(kOffloaded, {{"/jobs/0/offload", "0"}});
  const double longer = away.step_time.median - here.step_time.median;
  REQUIRE(longer > here.step_time.median);
  CHECK((away.time.framework - here.time.framework).value() == Approx(longer).epsilon(0.05));
  CHECK(away.time.compute.value() <= here.time.compute.value() * 1.01);
  const JobResult better = run(kOffloaded, {{"/better", R"({"memory": 2})"}});
  const JobResult twice =
      run(kOffloaded, {{"/cluster/platform", R"({"extends": "hgx-h100", "node": {"cpu": {
                         "extends": "xeon-platinum-8480c", "memory_bandwidth": "614.4 GB/s"}}})"}});
  CHECK(twice.step_time.median < 0.8 * away.step_time.median);
  CHECK(better.step_time.median == Approx(twice.step_time.median).epsilon(1e-9));
}

} // namespace foretrain::host_waits_test
