// What limits a job, in words that hold: of the machine that it is on, and no more than is known.
#include "experiments/answers/explain.hpp"
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::limit_words_test {

using namespace foretrain::experiments;
using namespace foretrain::test;
using Catch::Contains;

namespace {

std::string job_on(const std::string& cluster, const std::string& job)
{
  return R"({"cluster": {)" + cluster +
         R"(}, "jobs": [{"framework": "maxtext", "precision": "bf16", )" + job + "}]}";
}

Json explained(const std::string& text)
{
  ExplainOptions options;
  options.swaps = false;
  return written(explain(load_experiment(parse_document(text, "test"), {}, {}), 0, options));
}

} // namespace

TEST_CASE("exchanges whose time alone is known are not said to wait for latency", "[limits]")
{
  // NCCL takes rings over four of the eight adapters: the threads of four ranks send.
  const std::string text =
      job_on(R"("platform": "hgx-h100-400gbe", "nodes": 4)",
             R"("model": "gpt3-5b", "global_batch": 256, "parallel": {"zero": 2}, "gpus": 32)");
  const auto document = parse_document(text, "test");
  set_value(*document, "/stack", R"({"network": "tcp"})");
  const auto limit_with = [&document](bool doubled) {
    RunOptions options;
    options.doubles_limits = doubled;
    return run_point({{}, document, nullptr}, options).jobs.front().bottleneck;
  };
  const Bottleneck limit = limit_with(true);
  CHECK_THAT(limit.why, Contains("of the step waits for exchanges between GPUs") &&
                            Contains("twice the connections of the transport would bring most"));
  CHECK_THAT(limit.why, !Contains("latency"));
  CHECK(limit.name == "connections of the transport");
  CHECK(limit_with(false).name == "exchanges between GPUs");
}

TEST_CASE("links between AMD's GPUs are called what they are", "[limits][amd]")
{
  const std::string job = R"("model": "llama-3-8b", "global_batch": 8, "gpus": 8,
                             "parallel": {"tensor": 8}, "sequence": 1024)";
  const std::string amd = job_on(R"("platform": "mi300x-8")", job);
  CHECK_THAT(explained(amd).dump(), Contains("xGMI twice as fast") && !Contains("NVLink"));
  CHECK_THAT(explained(job_on(R"("platform": "hgx-h100")", job)).dump(),
             Contains("NVLink twice as fast") && !Contains("xGMI"));
  std::string told;
  for (const std::string& warning : run_text(amd, {{"/better", R"({"nvlink": 2})"}}).warnings)
    told += warning + "\n";
  CHECK_THAT(told, Contains("xGMI 2 times as good"));
}

} // namespace foretrain::limit_words_test
