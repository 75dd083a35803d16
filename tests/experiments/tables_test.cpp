// Embedding tables that a job's GPUs divide among themselves, in whole experiments.
#include "tests/experiments/point.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::tables_test {

using namespace foretrain::test;

namespace {

// A step with tables of so many rows looked up, and `main` layers beside them.
std::string experiment(const std::string& framework, const std::string& main, int gpus)
{
  return R"({"cluster": {"platform": "dgx-a100-80gb"},
    "jobs": [{"batch_per_gpu": 8192, "precision": "fp16", "framework": )" +
         framework + R"(, "gpus": )" + std::to_string(gpus) +
         R"(, "model": {"input": {"features": 64}, "layers": [
           {"op": "tables", "hidden": 64, "rows": [100000, 100000, 100000, 100000], "main": [)" +
         main + R"({"op": "linear", "out": 64}]}, "flatten", {"op": "linear", "out": 1}]}}]})";
}

experiments::JobResult job(const std::string& framework, const std::string& main, int gpus)
{
  return run_text(experiment(framework, main, gpus)).jobs.at(0);
}

double exposed(const std::string& main, int gpus)
{
  return job(R"("hugectr")", main, gpus).time.exposed_communication.value();
}

} // namespace

TEST_CASE("rows are exchanged between GPUs, not on one", "[tables][long]")
{
  CHECK(exposed("", 1) == 0);
  const auto two = job(R"("hugectr")", "", 2);
  // Half of a rank's rows go to the other one over NVLink, and their gradients come back.
  const double one_way = 8192 * 4 * 64 * 2.0 / 2 / 300e9;
  CHECK(two.time.exposed_communication.value() > 2 * one_way);
  CHECK(two.memory.needed < job(R"("hugectr")", "", 1).memory.needed);
}

TEST_CASE("what is computed beside rows on their way hides them", "[tables][property][long]")
{
  // Many small layers: time, and few gradients.
  const double more =
      exposed(R"({"op": "repeat", "times": 30, "body": [{"op": "linear", "out": 64}]}, )", 8);
  const double few = exposed("", 8);
  CHECK(more < few);
}

TEST_CASE("rows that are looked up often stay where they are wanted, of several nodes",
          "[tables][long]")
{
  const auto on_two_nodes = [](const std::string& framework) {
    std::string text = experiment(framework, "", 16);
    text.replace(text.find(R"("dgx-a100-80gb")"), 15, R"("dgx-a100-80gb", "nodes": 2)");
    return run_text(text).jobs.at(0).time.exposed_communication.value();
  };
  // 131072 samples look up each of 100,000 rows 1.3 times a step.
  const std::string of_hugectr = R"({"extends": "hugectr", "frequent_rows": {"ratio": )";
  CHECK(on_two_nodes(of_hugectr + "0.34}}") == on_two_nodes(of_hugectr + "100}}"));
  CHECK(on_two_nodes(of_hugectr + "0.32}}") != on_two_nodes(of_hugectr + "100}}"));
}

TEST_CASE("tables need a library that hands rows from GPU to GPU", "[tables][errors]")
{
  for (const char* framework :
       {R"({"extends": "pytorch-ddp", "library": "gloo"})", R"("tensorflow-local-ps")"})
    CHECK_THROWS_WITH(job(framework, "", 2),
                      Catch::Matchers::Contains("/jobs/0/framework") &&
                          Catch::Matchers::Contains("divides its tables among them"));
  CHECK_NOTHROW(job(R"({"extends": "pytorch-ddp", "library": "gloo"})", "", 1));
}

TEST_CASE("a program for some networks is told where it is asked of others", "[tables][long]")
{
  const auto warnings = [](const char* model) {
    return run_text(R"({"cluster": {"platform": "dgx-a100-80gb"}, "jobs": [{"framework": "hugectr",
      "precision": "fp16", "batch_per_gpu": 64, "gpus": 8, "model": )" +
                    std::string(model) + "}]}")
        .warnings;
  };
  const auto told = [&](const char* model) {
    const auto all = warnings(model);
    return std::any_of(all.begin(), all.end(), [](const std::string& warning) {
      return warning.find("is a program for dlrm; ") != std::string::npos;
    });
  };
  CHECK(told(R"("vgg11")"));
  CHECK(told(R"("gpt2-small")"));
  CHECK_FALSE(told(R"("dlrm")"));
  CHECK_FALSE(told(R"({"extends": "dlrm", "input": {"features": 20}})"));
}

TEST_CASE("a program for transformers is told where it is asked of other networks",
          "[tables][long]")
{
  const auto warnings = [](const char* framework, const char* model) {
    return joined(
        run_text(R"({"cluster": {"platform": "dgx-a100-80gb"}, "jobs": [{"precision": "fp16",
      "batch_per_gpu": 8, "gpus": 8, "steps": 2, "framework": )" +
                 std::string(framework) + R"(, "model": )" + model + "}]}")
            .warnings,
        "\n");
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(warnings(R"("nemo")", R"("stable-diffusion-2")"),
             Contains("is a program for transformers; of stable-diffusion-2") &&
                 Contains("(pytorch-mlperf-diffusion is written for it)"));
  CHECK_THAT(warnings(R"("nemo")", R"("gpt2-small")"), !Contains("is a program for"));
  CHECK_THAT(warnings(R"("pytorch-ddp")", R"("resnet50")"), !Contains("is a program for"));
}

TEST_CASE("a library of kernels that no GPU knows is told", "[tables]")
{
  const auto told = [](const char* library) {
    return joined(run_text(R"({"cluster": {"platform": "dgx1-v100"}, "jobs": [{"precision": "fp16",
      "batch_per_gpu": 8, "gpus": 1, "steps": 2, "model": "alexnet",
      "framework": {"extends": "mxnet", "kernel_library": ")" +
                           std::string(library) + "\"}}]}")
                      .warnings,
                  "\n");
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(told("cudnn-banana"),
             Contains("nothing is known of the \"kernel_library\" 'cudnn-banana'") &&
                 Contains("cudnn-7.1"));
  CHECK_THAT(told("cudnn-6"), !Contains("kernel_library")); // of the P100, not of this one
  CHECK_THAT(told(""), !Contains("kernel_library"));
}

} // namespace foretrain::tables_test
