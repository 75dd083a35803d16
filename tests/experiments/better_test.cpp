#include "experiments/run/limits/gains.hpp"
#include "experiments/run/limits/pulled.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/run/simulate/anchor_runs.hpp"
#include "experiments/spec/resolve.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::better_test {

using namespace foretrain::experiments;
using Catch::Contains;

namespace {

Point point_with(const std::string& better, const std::string& job_keys = "")
{
  Point point;
  point.document = parse_document(R"({"cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 2},
    "stack": {"network": "ipoib"}, "better": {)" +
                                      better + R"(}, "jobs": [{"model": "vgg16",
    "framework": "tensorflow-horovod", "precision": "fp16", "batch_per_gpu": 64, "gpus": 8)" +
                                      job_keys + "}]}",
                                  "test");
  return point;
}

double rate(const Point& point)
{
  return quick_throughputs(point, {}).front();
}

} // namespace

TEST_CASE("what an experiment makes better is what explain measures", "[explain]")
{
  const ResolvedExperiment as_is = resolve(point_with(""));
  for (const Lever& lever : levers()) {
    INFO(lever.key);
    const auto text =
        std::find_if(kLeverTexts.begin(), kLeverTexts.end(),
                     [&](const LeverText& it) { return it.key == std::string_view(lever.key); });
    REQUIRE(text != kLeverTexts.end());
    const Point better = point_with('"' + json_key(*text) + "\": 2");
    CHECK(throughputs_with(resolve(better), {}, 1, {}) == throughputs_with(as_is, {&lever}, 2, {}));
  }
}

TEST_CASE("faster cores are so in each layer of a tunnel", "[explain][closed-form]")
{
  const std::string network = GENERATE("ipoib", "flannel-vxlan", "flannel-udp", "calico-ipip");
  CAPTURE(network);
  const auto work = [&](const std::string& speed) {
    const auto document = std::make_shared<Document>(
        *point_with("\"core_speed\": " + speed,
                    R"(, "stack": {"host": "container", "network": ")" + network + "\"}")
             .document);
    Point point;
    point.document = document;
    const platforms::Transport t = resolve(point).jobs.front().stack.transport;
    return byte_work(t, t.infiniband ? *t.infiniband : *t.ethernet).all();
  };
  CHECK(work("1") > 0);
  CHECK_THAT(work("2"), test::is(work("1") / 2));
}

TEST_CASE("cores that are twice as fast do for processes what twice as many do", "[explain]")
{
  const auto rate_with = [](const std::string& better) {
    Point point;
    point.document = parse_document(
        R"({"cluster": {"platform": "c4140-k-v100-sxm2"}, "better": {)" + better +
            R"(}, "jobs": [{"model": "vgg16", "framework": "pytorch-ddp", "precision": "fp16",
                "batch_per_gpu": 64, "gpus": 4, "cores": 1}]})",
        "test");
    return rate(point);
  };
  const double as_is = rate_with("");
  CHECK(rate_with("\"cores\": 2") > 1.9 * as_is); // a core for four processes
  CHECK(rate_with("\"core_speed\": 2") == Approx(rate_with("\"cores\": 2")).epsilon(0.01));
}

TEST_CASE("several things better, or worse, are told", "[explain]")
{
  const ResolvedExperiment changed =
      resolve(point_with(R"("nic": 4, "core_speed": 0.5, "gpu": 1)"));
  REQUIRE(!changed.jobs.front().warnings.empty());
  CHECK_THAT(
      changed.jobs.front().warnings.back(),
      Contains("speed of the CPU cores 0.5 times as good, network adapters 4 times as good") &&
          !Contains("GPUs"));
  CHECK(rate(point_with(R"("core_speed": 0.5)")) < 0.9 * rate(point_with("")));
  CHECK_THROWS_WITH(resolve(point_with(R"("nics": 2)")), Contains("did you mean 'nic'?"));
  CHECK_THROWS_WITH(resolve(point_with(R"("nic": 0)")), Contains("/better/nic"));
}

TEST_CASE("an anchor is of the machine that there is", "[explain]")
{
  const std::string one = R"(, "anchor": {"samples_per_s": 300})";
  const Point as_is = point_with("", one), faster = point_with(R"("gpu": 2)", one);
  CHECK(rate(faster) > 1.1 * rate(as_is));
  const std::string of_all = R"(, "anchor": {"samples_per_s": 1800, "gpus": 8})";
  CHECK_THAT(rate(with_anchors(point_with("", of_all), {})), Catch::WithinRel(1800, 0.02));
  CHECK(rate(point_with(R"("gpu": 2, "nic": 2, "core_speed": 2)", of_all)) > 1.5 * 1800);
}

TEST_CASE("what is better may be set and varied where the file says nothing of it", "[explain]")
{
  const auto document = parse_document(R"({"cluster": {"platform": "c4140-v100-sxm2"},
    "jobs": [{"model": "alexnet", "framework": "mxnet", "batch_per_gpu": 64}],
    "sweep": {"/better/gpu": [1, 2]}})",
                                       "test");
  const LoadedExperiment loaded = load_experiment(document, {"/better/nic=2"});
  REQUIRE(loaded.points.size() == 2);
  const ExperimentSpec last = read_point(loaded.points[1]);
  double product = 1;
  for (const auto& factor : last.better.factors)
    product *= factor.value_or(1);
  CHECK(product == 4);
}

TEST_CASE("a machine that is twice as good in all is twice as fast", "[explain][property][long]")
{
  // Rates and times of all levers; numbers of cores, threads and connections stay.
  const char* const kAll = R"("gpu": 2, "nvlink": 2, "pcie": 2, "disk": 2, "storage_network": 2,
    "storage_cpu": 2, "mount": 2, "memory": 2, "core_speed": 2, "files": 2, "fabric": 2, "nic": 2,
    "latency": 2, "framework": 2)";
  const auto asked = GENERATE(table<std::string, std::string, std::string>({
      // Exchanges inside layers: calls of the library, of an A100's generation and an H100's.
      {"dgx-a100", "rdma",
       R"("model": "gpt2-small", "framework": "pytorch-mlperf-bert-graphs", "precision": "bf16",
         "global_batch": 64, "micro_batch": 1, "sequence": 1024, "gpus": 16,
         "parallel": {"tensor": 2, "pipeline": 2})"},
      {"hgx-h100", "rdma", R"("model": "mixtral-8x7b", "framework": "megatron", "gpus": 16,
         "precision": "bf16", "global_batch": 32, "micro_batch": 1, "sequence": 1024,
         "parallel": {"expert": 8, "zero": 1})"},
      // Kernels beside an exchange, which the host launches.
      {"dgx-a100", "tcp", R"("model": "vgg16", "framework": "pytorch-ddp", "precision": "fp16",
         "batch_per_gpu": 8, "gpus": 2)"},
      {"dgx-a100", "rdma", R"("model": "bert-large", "framework": "pytorch-mlperf", "gpus": 8,
         "precision": "fp16", "batch_per_gpu": 32)"},
      {"c4140-k-v100-sxm2", "ipoib", R"("model": "bert-large", "framework": "pytorch-horovod",
         "precision": "fp16", "batch_per_gpu": 8, "gpus": 2)"},
      {"c4140-k-v100-sxm2", "rdma", R"("model": "bert-large", "batch_per_gpu": 32, "gpus": 4,
         "framework": "tensorflow-1.15-xla-replicated", "precision": "fp16")"},
  }));
  const std::string& platform = std::get<0>(asked);
  const std::string& network = std::get<1>(asked);
  const std::string& job = std::get<2>(asked);
  CAPTURE(platform, job);
  const auto with = [&](const std::string& better) {
    Point point;
    point.document = parse_document(
        R"({"cluster": {"platform": ")" + platform + R"("}, "stack": {"network": ")" + network +
            R"("}, "better": {)" + better + R"(}, "jobs": [{)" + job + "}]}",
        "test");
    return rate(point);
  };
  // What two levers make shorter, like launches, takes a quarter of the time.
  CHECK(with(kAll) > 1.97 * with(""));
}

} // namespace foretrain::better_test
