// What jobs get of the cores and the memory of nodes that they share.
#include "experiments/run/simulate/tenancy.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

namespace foretrain::tenancy_test {

using namespace foretrain::experiments;

namespace {

constexpr const char* kInput = R"("process_memory": "8 GB")";

// Jobs on one node with 8 GPUs, 2 sockets of 20 cores and 512 GB of memory.
ResolvedExperiment resolved(const std::string& host, const std::vector<std::string>& jobs,
                            const std::string& input = kInput)
{
  std::string text = R"({"cluster": {"platform": {"extends": "dgx1-v100",
      "node": {"memory": "512 GB", "cpu": {"extends": "xeon-e5-2698v4", "cores": 20,
      "threads_per_core": 2}}}, "nodes": 1}, "stack": {"host": ")" +
                     host + R"("}, "jobs": [)";
  for (std::size_t i = 0; i < jobs.size(); ++i)
    text += fmt::format(R"({}{{"name": "{}", "model": "resnet50", "batch_per_gpu": 32,
        "framework": {{"extends": "pytorch-ddp", "input": {{{}}}}},
        "input": {{"format": "jpeg", "dataset": "imagenet"}}, {}}})",
                        i == 0 ? "" : ",", i, input, jobs[i]);
  return resolve({{}, parse_document(text + "]}", "test"), nullptr, nullptr});
}

constexpr double kGB = 1e9;

} // namespace

TEST_CASE("processes share all cores, what they leave of memory caches the files of all",
          "[tenancy][closed-form]")
{
  const auto e = resolved("bare-metal", {R"("gpus": 2)", R"("gpus": 4)"});
  const Tenancy tenancy(e);
  for (const std::size_t job : {0U, 1U}) {
    CHECK_FALSE(tenancy.confined(job));
    CHECK(tenancy.cores(job, 0) == 40);
    CHECK(tenancy.page_cache(job, 0) == Bytes((512 - 6 * 8) * kGB / 2));
  }
  CHECK(tenancy.tenants() == std::vector<int>{2});
  CHECK(tenancy.gpus_on(1, 0) == 4);
}

TEST_CASE("containers have their GPUs' share of a node, alone the whole", "[tenancy][closed-form]")
{
  const auto e = resolved("container", {R"("gpus": 2)", R"("gpus": 4)"});
  const Tenancy both(e);
  CHECK(both.confined(0));
  CHECK(both.cores(0, 0) == 10);
  CHECK(both.cores(1, 0) == 20);
  CHECK(both.page_cache(0, 0) == Bytes((128 - 2 * 8) * kGB));
  CHECK(both.page_cache(1, 0) == Bytes((256 - 4 * 8) * kGB));
  const auto one = resolved("container", {R"("gpus": 2)"});
  const Tenancy alone(one);
  CHECK_FALSE(alone.confined(0));
  CHECK(alone.cores(0, 0) == 40);
  CHECK(alone.page_cache(0, 0) == Bytes((512 - 2 * 8) * kGB));
}

TEST_CASE("limits of a job hold, up to what a node has", "[tenancy][closed-form]")
{
  const auto e = resolved("bare-metal", {R"("gpus": 2, "cores": 6, "memory": "40 GB")",
                                         R"("gpus": 2, "cores": 99, "memory": "12 GB")"});
  const Tenancy tenancy(e);
  CHECK(tenancy.confined(0));
  CHECK(tenancy.cores(0, 0) == 6);
  CHECK(tenancy.page_cache(0, 0) == Bytes((40 - 2 * 8) * kGB));
  CHECK(tenancy.cores(1, 0) == 40);
  CHECK(tenancy.page_cache(1, 0) == Bytes(0)); // its processes have it all
}

TEST_CASE("what jobs may cache is together no more than a node has", "[tenancy][closed-form]")
{
  // 512 GB less 6 processes of 8 GB: 464 GB.
  const auto check = [](const std::string& host, const std::string& first,
                        const std::string& second, double a, double b) {
    const auto e = resolved(host, {R"("gpus": 2)" + first, R"("gpus": 4)" + second});
    const Tenancy tenancy(e);
    CHECK_THAT(tenancy.page_cache(0, 0).value(), test::is(a * kGB));
    CHECK_THAT(tenancy.page_cache(1, 0).value(), test::is(b * kGB));
  };
  const std::string host = GENERATE("bare-metal", "container");
  const std::string most = R"(, "memory": "500 GB")";
  check(host, most, most, 232, 232);
  check(host, R"(, "memory": "100 GB")", most, 84, 380);
  check(host, most, R"(, "memory": "132 GB")", 364, 100);
  // Who has no limit may take what the other one may not.
  check("bare-metal", R"(, "memory": "100 GB")", "", 84, 380);
}

TEST_CASE("jobs are told what together is more than their node has", "[tenancy]")
{
  const auto warned = [](const std::string& first, const std::string& second) {
    const auto e = resolved("bare-metal", {R"("gpus": 2)" + first, R"("gpus": 4)" + second});
    std::string all;
    for (const ResolvedJob& job : e.jobs)
      for (const std::string& warning : job.warnings)
        if (warning.find("together") != std::string::npos)
          all += warning + "\n";
    return all;
  };
  CHECK(warned(R"(, "memory": "300 GB", "cores": 20)", R"(, "memory": "212 GB", "cores": 20)") ==
        "");
  CHECK(warned(R"(, "memory": "300 GB")", R"(, "memory": "213 GB")") ==
        "0, 1: on one node they are given 513 GB of main memory together, it has 512 GB: what "
        "each caches is less\n");
  CHECK(warned(R"(, "cores": 30)", R"(, "cores": 12)") ==
        "0, 1: on one node they are given 42 cores together, it has 40, which they share\n");
}

TEST_CASE("threads that decode: those told, or the cores that are left", "[tenancy][closed-form]")
{
  const auto threads = [](const std::string& input, const std::string& more = "") {
    const auto e = resolved("bare-metal", {R"("gpus": 4)" + more}, input);
    return Tenancy(e).decode_threads(0, 0);
  };
  const std::string none = R"("threads_per_gpu": null, )";
  CHECK(threads(R"("threads_per_gpu": 3)") == 3);
  CHECK(threads(none + R"("threads_per_node": 12)") == 3);
  CHECK(threads(none + R"("cores_kept_per_gpu": 5)") == 40 * 2 / 4 - 5);
  CHECK(threads(none + R"("process_per_gpu": true)") == 40 * 2);
  CHECK(threads(none + R"("cores_kept_per_gpu": 5)", R"(, "cores": 4)") == 1); // one at least
}

} // namespace foretrain::tenancy_test
