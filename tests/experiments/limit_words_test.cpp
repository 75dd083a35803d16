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

TEST_CASE("exchanges whose time alone is known are not said to wait for latency", "[limits][long]")
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
  CHECK(limit.why.starts_with("twice the connections")); // the limit first, then what was seen
  CHECK(limit.name == "connections of the transport");
  CHECK(limit_with(false).name == "exchanges between GPUs");
}

TEST_CASE("links between AMD's GPUs are called what they are", "[limits][amd][long]")
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

TEST_CASE("one thread that opens files is not bettered by more threads that decode", "[limits]")
{
  const std::string text = R"({"cluster": {"platform": "c4140-k-v100-sxm2"}, "jobs": [{
      "framework": "tensorflow-horovod", "precision": "fp16", "model": "resnet50", "gpus": 4,
      "batch_per_gpu": 256, "input": "jpeg"}]})";
  const JobResult job = run_text(text).jobs.front();
  CHECK(job.bottleneck.name == "thread that opens files");
  REQUIRE(job.bottleneck.lever != nullptr);
  CHECK(job.bottleneck.lever->key == std::string("files"));
  CHECK(*job.bottleneck.gain_if_doubled == Approx(1).epsilon(0.02));
  CHECK_THAT(job.bottleneck.why, Contains("large files of records would help"));
  // 1 / 0.78 ms, whatever the threads; known to 10 %.
  CHECK(job.throughput.median == Approx(1 / 0.78e-3).epsilon(0.02));
  CHECK(std::log(job.throughput.high / job.throughput.low) > 2 * 1.6 * 0.09);
}

TEST_CASE("what a step waits for is told in words, not by a resource's name", "[limits][long]")
{
  const JobResult job =
      run_text(R"({"cluster": {"platform": "c4140-k-v100-sxm2"}, "jobs": [{"model": "vgg16",
      "framework": "tensorflow-ps", "precision": "fp16", "gpus": 9, "batch_per_gpu": 64}]})")
          .jobs.front();
  CHECK_THAT(job.bottleneck.why, Contains("ib0 (receiving) of node ") && !Contains("ib0/"));
}

TEST_CASE("a tunnel that is one flow waits for a core, which a faster one betters",
          "[limits][long]")
{
  const JobResult job = run_text(R"({"cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 2},
      "stack": {"host": "container", "network": "calico-ipip"}, "jobs": [{"model": "bert-base",
      "framework": "pytorch-ddp", "precision": "fp16", "gpus": 8, "batch_per_gpu": 16}]})")
                            .jobs.front();
  CHECK(job.bottleneck.name == "speed of the CPU cores");
  CHECK(job.bottleneck.gain_if_doubled > 0.8);
  CHECK_THAT(job.bottleneck.why, Contains("core that serves the packets of a flow of node 0"));
}

TEST_CASE("what a step waits for beside its computing is told, the most first",
          "[limits][large][long]")
{
  const auto why = [](const std::string& parallel, int global_batch) {
    return run_text(fmt::format(R"({{"cluster": {{"platform": "hgx-h100"}},
        "jobs": [{{"model": "llama-3-8b", "framework": "nemo", "precision": "bf16", "gpus": 8,
                   "global_batch": {}, "sequence": 4096, "parallel": {}}}]}})",
                                global_batch, parallel))
        .jobs.front()
        .bottleneck.why;
  };
  CHECK_THAT(why(R"({"pipeline": 4, "tensor": 2})", 8),
             Contains("; waiting for other stages of the pipeline is") &&
                 Contains("exposed communication"));
  CHECK_THAT(why(R"({"tensor": 8})", 8),
             Contains("; exposed communication is") && !Contains("pipeline"));
}

TEST_CASE("more connections are advised where there are connections", "[limits][long]")
{
  // One adapter for four GPUs on two sockets: one ring, whose rate the library sets.
  const std::string machine = R"({"extends": "generic-4gpu", "node": {"cpu": "epyc-7763", "gpus": {
      "type": "a100-pcie-80gb", "on": ["socket0", "socket0", "socket1", "socket1"]}}})";
  const auto why_over = [&](const std::string& network) {
    return run_text(R"({"cluster": {"platform": )" + machine + R"(}, "stack": {"network": ")" +
                    network + R"("}, "jobs": [{"framework": "pytorch-ddp", "precision": "fp16",
                    "model": "bert-large-128", "gpus": 32, "batch_per_gpu": 32}]})")
        .jobs.front()
        .bottleneck.why;
  };
  CHECK_THAT(why_over("rdma"),
             Contains("the rate that the library's protocol reaches") && !Contains("connections"));
  CHECK_THAT(why_over("host-network"), Contains("more connections would help"));
}

} // namespace foretrain::limit_words_test
