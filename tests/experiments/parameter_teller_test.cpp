// One parameter, whoever builds on the file that says how large it is.
#include "experiments/run/uncertainty/not_modelled.hpp"
#include "experiments/run/uncertainty/uncertain_variables.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::parameter_teller_test {

using namespace foretrain::experiments;

namespace {

constexpr const char* kHostTime = ": host time of operations and launches";

// Variables of jobs of these frameworks, a GPU each.
std::vector<Variable> of_frameworks(const std::vector<std::string>& frameworks)
{
  std::string jobs;
  for (const std::string& framework : frameworks)
    jobs += fmt::format(R"({}{{"name": "job{}", "model": "resnet50", "batch_per_gpu": 16, "gpus": 1,
                            "framework": {}}})",
                        jobs.empty() ? "" : ", ", jobs.size(), framework);
  const Point point{
      {},
      parse_document(
          fmt::format(R"({{"cluster": {{"platform": "c4140-m-v100-sxm2"}}, "jobs": [{}]}})", jobs),
          "test"),
      nullptr};
  return variables_of(resolve(point), point);
}

// Names of those of a framework's host time, and in how many places they stand.
std::vector<std::pair<std::string, std::size_t>>
host_times(const std::vector<std::string>& frameworks)
{
  std::vector<std::pair<std::string, std::size_t>> found;
  for (const Variable& it : of_frameworks(frameworks))
    if (it.name.ends_with(kHostTime))
      found.emplace_back(it.name, it.at.size());
  return found;
}

using Found = std::vector<std::pair<std::string, std::size_t>>;

} // namespace

TEST_CASE("who builds on a preset has its parameters, not some of his own", "[uncertainty]")
{
  const std::string parent = std::string("framework pytorch-ddp") + kHostTime;
  const std::string child = R"("pytorch-ddp-channels-last")"; // extends it, keeps its launches
  CHECK(host_times({R"("pytorch-ddp")"}) == Found{{parent, 2}});
  CHECK(host_times({child}) == Found{{parent, 2}});
  CHECK(host_times({child, R"("pytorch-ddp")"}) == Found{{parent, 4}});
  CHECK(host_times({R"({"extends": "pytorch-ddp-channels-last", "step_overhead": "1 ms"})",
                    child}) == Found{{parent, 4}});
  CHECK(host_times({R"("mxnet")", R"("pytorch-ddp")"}).size() == 2);
}

TEST_CASE("who says something else has a parameter of his own", "[uncertainty]")
{
  const auto two = host_times(
      {R"({"extends": "pytorch-ddp", "launches": {"per_operation": "7 us", "per_kernel": "3 us"}})",
       R"("pytorch-ddp")"});
  REQUIRE(two.size() == 2);
  CHECK(two[0].first == std::string("framework test#/jobs/0/framework") + kHostTime);
  CHECK(two[1].first == std::string("framework pytorch-ddp") + kHostTime);
}

TEST_CASE("what nobody says is of the file that is built on", "[uncertainty]")
{
  const auto variables = of_frameworks({R"({"extends": "realrun-cpu", "name": "ours"})"});
  CHECK(std::ranges::count_if(variables, [](const Variable& it) { // by default 1
          return it.name == "framework realrun-cpu: cores that GPUs' processes keep busy";
        }) == 1);
}

TEST_CASE("what is not modelled of a transformer is the same however its presets are written",
          "[uncertainty]")
{
  const auto digest = [](const std::string& framework, const std::string& model) {
    const Point point{{},
                      parse_document(fmt::format(R"({{"cluster": {{"platform": "hgx-h100"}},
                          "jobs": [{{"framework": {}, "model": {}, "gpus": 8, "precision": "bf16",
                                     "global_batch": 64}}]}})",
                                                 framework, model),
                                     "test"),
                      nullptr};
    return not_modelled(point, resolve(point), 0).of;
  };
  const std::string by_name = digest(R"("megatron")", R"("gpt2-small")");
  CHECK(!by_name.empty());
  CHECK(digest(R"({"extends": "megatron"})", R"("gpt2-small")") == by_name);
  CHECK(digest(R"("megatron")", R"({"extends": "gpt2-small"})") == by_name);
  CHECK(digest(R"({"extends": "megatron", "step_overhead": "9 ms"})", R"("gpt2-small")") !=
        by_name);
  CHECK(digest(R"("megatron")", R"("llama-3.2-1b")") != by_name);
}

TEST_CASE("a copy of a preset under its name is that preset, where it says the same",
          "[uncertainty]")
{
  Json copy = resolve_preset("pytorch-ddp", models::kFrameworkKind).json();
  copy["step_overhead"] = "3 ms";
  const Found same = host_times({copy.dump(), R"("pytorch-ddp")"});
  CHECK(same == Found{{std::string("framework pytorch-ddp") + kHostTime, 4}});
  const auto variables = of_frameworks({copy.dump(), R"("pytorch-ddp")"});
  CHECK(std::ranges::count_if(variables, [](const Variable& it) {
          return it.name.ends_with(": step overhead");
        }) == 2);
  copy["name"] = "ours";
  CHECK(host_times({copy.dump(), R"("pytorch-ddp")"}).size() == 2);
}

} // namespace foretrain::parameter_teller_test
