// A network's host is the same whether it is told by layers or as a transformer.
#include "experiments/spec/job_framework.hpp"
#include "experiments/spec/resolve.hpp"

#include "models/plans/planned_layer.hpp"
#include "models/training/compute_profile.hpp"

#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::one_host_test {

using namespace foretrain::experiments;
using namespace foretrain::test;

namespace {

std::string job_of(const std::string& model, const std::string& more,
                   const std::string& framework = "pytorch-ddp")
{
  return R"({"cluster": {"platform": "dgx1-v100"}, "jobs": [{"model": )" + model + more +
         R"(, "framework": ")" + framework +
         R"(", "precision": "fp16", "batch_per_gpu": 1, "gpus": 1}]})";
}

ResolvedJob resolved(const std::string& text)
{
  Point point;
  point.document = parse_document(text, "test");
  return resolve(point).jobs[0];
}

// Of the encoder's layers, both ways.
Seconds host_of_layers(const ResolvedJob& job)
{
  Seconds host;
  for (std::size_t i = 0; i < job.network.layers.size(); ++i)
    if (job.network.layers[i].name.starts_with("encoder."))
      host += job.profile.layers[i].forward_host + job.profile.layers[i].backward_host;
  return host;
}

Seconds host_of_transformer(const ResolvedJob& job)
{
  const models::StepSetting& s = job.transformer->step;
  const auto operators =
      models::layer_operators(s.memory.model, models::operator_shape(s), models::kDenseLayer);
  return s.memory.model.layers * (models::forward_time(operators, s.device).host +
                                  models::backward_time(operators, s.device).host);
}

} // namespace

TEST_CASE("BERT-large has one host, as layers and as a transformer", "[host]")
{
  const auto framework =
      GENERATE("pytorch-ddp", "tensorflow-2-horovod", "tensorflow-2-xla-horovod");
  CAPTURE(framework);
  const Seconds layers =
      host_of_layers(resolved(job_of(R"({"extends": "bert-large-128"})", "", framework)));
  const Seconds transformer = host_of_transformer(resolved(
      job_of(R"("bert-large-512")", R"(, "sequence": 128, "attention": "plain")", framework)));
  // Scores are scaled and masked by two kernels, not one, and gradients of what queries, keys and
  // values are made of are added up; heads are brought first in one operation, not four.
  CHECK(transformer / layers == Approx(1).epsilon(0.16));
}

TEST_CASE("casts and checks are of half precision on tensor cores", "[host]")
{
  const models::Framework framework =
      models::load_framework(resolve_preset("tensorflow-horovod", models::kFrameworkKind));
  const auto gpu = [](const char* name) {
    return read_as<platforms::Gpu>(resolve_preset(name, platforms::kGpuKind));
  };
  const auto of = [&](const char* name, sim::Precision precision) {
    return *launches_of(framework, gpu(name), platforms::Host{}, precision);
  };
  CHECK(of("v100-sxm2-16gb", sim::Precision::fp16).casts_per_weight == 1);
  CHECK(of("v100-sxm2-16gb", sim::Precision::fp16).checks_per_gradient == 1);
  CHECK(of("v100-sxm2-16gb", sim::Precision::fp32).casts_per_weight == 0);
  CHECK(of("p100-sxm2-16gb", sim::Precision::fp16).checks_per_gradient == 0);
}

TEST_CASE("a guest's host needs its part more, and longer for each launch", "[host][closed-form]")
{
  models::Framework framework;
  const platforms::Gpu gpu;
  platforms::Host host;
  CHECK(!launches_of(framework, gpu, host, sim::Precision::fp32));
  framework.launches = models::HostLaunches{Seconds(30e-6), Seconds(5e-6)};
  host.cpu_overhead = 1.1;
  host.kernel_launch = Seconds(0.5e-6);
  const models::HostLaunches launches = *launches_of(framework, gpu, host, sim::Precision::fp32);
  CHECK_THAT(launches.per_operation.value(), is(33e-6));
  CHECK_THAT(launches.per_kernel.value(), is(6e-6));
}

TEST_CASE("inference waits for its host, too", "[host]")
{
  const auto latency = [](const char* launches, const char* core_speed = "1") {
    return run_text(
               std::string(R"({"cluster": {"platform": "dgx1-v100"}, "better": {"core_speed": )") +
               core_speed + R"(}, "jobs": [{
        "model": "resnet50", "mode": "inference", "precision": "fp16", "batch_per_gpu": 1, "gpus": 1,
        "framework": {"extends": "pytorch-ddp", "step_overhead": "0 us", "launches": )" +
               launches + "}}]}")
        .jobs[0]
        .step_time.median;
  };
  const double slow = latency(R"({"per_operation": "900 us", "per_kernel": "100 us"})");
  CHECK(latency(R"({"per_kernel": "0 us"})") < 0.01);
  // 53 convolutions, two layers of pooling, the last product.
  CHECK(slow == Approx(56e-3).epsilon(0.02));
  CHECK(latency(R"({"per_operation": "900 us", "per_kernel": "100 us"})", "2") ==
        Approx(slow / 2).epsilon(0.02));
}

} // namespace foretrain::one_host_test
