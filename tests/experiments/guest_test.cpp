// What an untold guest does to intervals and comparisons.
#include "experiments/answers/comparisons.hpp"
#include "experiments/report/report_certainty.hpp"
#include "experiments/report/report_html_answer.hpp"
#include "platforms/guest_quality.hpp"
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::guest_test {

using namespace foretrain::experiments;
using namespace foretrain::test;

namespace {

JobResult on(const std::string& host)
{
  const std::string text = R"({"cluster": {"platform": "nthu-gtx1080"}, "stack": {"host": )" +
                           host +
                           R"(}, "jobs": [{"model": "resnet50", "framework": "tensorflow-horovod",
                               "batch_per_gpu": 64, "gpus": 1}]})";
  return run_text(text).jobs[0];
}

JobResult result(const char* host, double rate)
{
  JobResult job;
  job.throughput = {rate, rate, rate, 0.9};
  job.uncertainty = Uncertainty{"linear", 0, 0.03, {}};
  if (host != nullptr)
    job.uncertainty->guest = GuestSpread{host, 0.4 * 1.644854, 0.1 * 1.644854};
  return job;
}

double probability(double mean, double deviation)
{
  return 0.5 * std::erfc(-mean / deviation / std::sqrt(2.0));
}

} // namespace

TEST_CASE("an untold guest is the one in the middle, with others on both sides", "[guest]")
{
  const JobResult known = on(R"({"extends": "vm", "quality": []})");
  const JobResult untold = on(R"("vm")");
  const auto quality =
      platforms::load_host(resolve_preset(std::string("vm"), platforms::kHostKind)).quality;
  const double middle = platforms::guest_loss(quality, 0.5);
  const double slower = untold.uncertainty->guest->slower;
  const double faster = untold.uncertainty->guest->faster;
  CHECK_FALSE(known.uncertainty->guest);
  CHECK(untold.uncertainty->guest->host == "virtual machine");
  // Of a step that waits for its kernels and a little for its framework.
  const double share = untold.time.compute.value() / untold.time.total().value();
  CHECK(share > 0.99);
  const auto longer = [&](double guest) {
    return std::log(1 - share + share * std::exp(platforms::guest_loss(quality, guest) - middle));
  };
  CHECK(slower == Approx(longer(0.05)).epsilon(1e-9));
  CHECK(faster == Approx(-longer(0.95)).epsilon(1e-9));
  CHECK(slower > 0.25); // a twentieth of all guests lose more than a quarter
  CHECK(untold.time.compute.value() ==
        Approx(known.time.compute.value() * std::exp(middle)).epsilon(1e-9));
  const auto below = [](const Range& range) { return std::log(range.median / range.low); };
  const auto above = [](const Range& range) { return std::log(range.high / range.median); };
  // What guests add; parameters weigh a little less where kernels take longer.
  const auto added = [](double all, double own) { return std::sqrt(all * all - own * own); };
  CHECK(added(below(untold.throughput), below(known.throughput)) == Approx(slower).epsilon(0.002));
  CHECK(added(above(untold.throughput), above(known.throughput)) == Approx(faster).epsilon(0.02));
  CHECK(added(above(untold.step_time), above(known.step_time)) == Approx(slower).epsilon(0.002));
  CHECK(added(below(untold.step_time), below(known.step_time)) == Approx(faster).epsilon(0.02));
}

TEST_CASE("a guest that waits for the network computes slower, and that costs little", "[guest]")
{
  const auto job = run_text(R"({"cluster": {"platform": "c4140-v100-sxm2", "nodes": 2},
    "stack": {"host": "vm", "network": {"extends": "tcp", "connections": 1}}, "jobs": [{"model": "vgg16",
    "framework": "pytorch-ddp", "batch_per_gpu": 1, "gpus": 2, "placement": "spread"}]})")
                       .jobs[0];
  const double share = job.time.compute / job.time.total();
  CHECK(share < 0.2);
  CHECK(job.uncertainty->guest->slower < 0.5 * share);
  CHECK(job.uncertainty->guest->faster < 0.05 * share);
}

TEST_CASE("every kind of work takes as much longer in a guest", "[guest][long]")
{
  const auto compute = [](const std::string& host, const std::string& job) {
    return run_text(R"({"cluster": {"platform": "dgx-a100-80gb"}, "stack": {"host": )" + host +
                    R"(}, "jobs": [{"gpus": 1, )" + job + "}]}")
        .jobs[0]
        .time.compute.value();
  };
  for (
      const char* job :
      {R"("model": "resnet50", "framework": "pytorch-ddp", "precision": "fp16", "batch_per_gpu": 64)",
       R"("model": "resnet50", "framework": "pytorch-ddp", "precision": "fp16", "batch_per_gpu": 1)",
       R"("model": "gpt3-1.7b", "framework": "megatron", "precision": "bf16", "global_batch": 8)",
       R"("model": "resnet50", "mode": "inference", "framework": "pytorch-ddp", "precision": "fp16", "batch_per_gpu": 64)"}) {
    INFO(job);
    CHECK(
        compute(
            R"({"extends": "vm", "quality": [{"name": "slow", "low": 0.79, "median": 0.8, "high": 0.81}]})",
            job) ==
        Approx(compute(R"({"extends": "vm", "quality": []})", job) / 0.8).epsilon(0.002));
  }
}

TEST_CASE("a rate of several GPUs was measured in its guest", "[guest][anchor][long]")
{
  const JobResult job =
      run_text(R"({"cluster": {"platform": "dgx1-v100"}, "stack": {"host": "vm"}, "jobs": [{
        "model": "resnet50", "framework": "pytorch-ddp", "precision": "fp16", "batch_per_gpu": 64,
        "gpus": 2, "anchor": {"samples_per_s": 1300, "gpus": 2}}]})")
          .jobs[0];
  CHECK(job.throughput.median == Approx(1300).epsilon(0.002));
  CHECK_FALSE(job.uncertainty->guest);
}

TEST_CASE("a virtual machine adds nothing to a platform that is told as its guests see it",
          "[guest][long]")
{
  const auto with = [](const std::string& host) {
    return run_text(R"({"cluster": {"platform": "p3-16xlarge"}, "stack": {"host": ")" + host +
                    R"("}, "jobs": [{"model": "resnet50", "framework": "pytorch-ddp",
                        "precision": "fp16", "batch_per_gpu": 64, "gpus": 4, "steps": 3}]})");
  };
  const auto told = [](const PointResult& point) {
    std::string all;
    for (const std::string& warning : point.warnings)
      all += warning + "\n";
    return all;
  };
  const PointResult bare = with("bare-metal"), vm = with("vm-tuned"), pod = with("container-on-vm");
  CHECK(vm.jobs[0].step_time.median == bare.jobs[0].step_time.median);
  CHECK(vm.jobs[0].throughput.low == bare.jobs[0].throughput.low);
  CHECK(pod.jobs[0].elapsed.total().value() == with("container").jobs[0].elapsed.total().value());
  CHECK_THAT(told(vm), Catch::Matchers::Contains(
                           "'p3-16xlarge' is told as its guests see it: host layer 'virtual "
                           "machine, tuned' adds nothing to it, 'bare metal' is taken"));
  CHECK_THAT(told(bare), !Catch::Matchers::Contains("adds nothing"));
}

TEST_CASE("which guest it is stands first among the causes of an interval", "[guest]")
{
  ExperimentResult result;
  result.points.resize(1);
  JobResult job = on(R"("vm-tuned")");
  job.uncertainty->guest = GuestSpread{"some guest", std::log(1.25), std::log(1.1)};
  result.points[0].jobs.push_back(job);
  const Report report(result);
  REQUIRE(certainty(report).size() == 1);
  CHECK_THAT(certainty(report)[0],
             Catch::Matchers::Contains(
                 "comes mostly from: which guest it is (some guest, -20 to +10 %), ") &&
                 Catch::Matchers::Contains("time of kernels"));
}

TEST_CASE("guests of one layer are alike, those of two are not", "[guest][closed-form]")
{
  const JobResult bare = result(nullptr, 100);
  const JobResult guest = result("vm", 110);
  const double own = std::hypot(0.03, 0.03);
  const JobResult alike = result("vm", 90), other = result("container-on-vm", 90);
  const auto check = [&](const Deviations& found, double below, double above) {
    CHECK(found.below == Approx(below).epsilon(1e-5));
    CHECK(found.above == Approx(above).epsilon(1e-5));
  };
  check(deviations_of_ratio(guest, bare, nullptr), std::hypot(own, 0.4), std::hypot(own, 0.1));
  check(deviations_of_ratio(bare, guest, nullptr), std::hypot(own, 0.1), std::hypot(own, 0.4));
  check(deviations_of_rate(guest), std::hypot(0.03, 0.4), std::hypot(0.03, 0.1));
  check(deviations_of_rate(bare), 0.03, 0.03);
  check(deviations_of_ratio(guest, alike, nullptr), own, own);
  const double both = std::hypot(own, std::hypot(0.4, 0.1));
  check(deviations_of_ratio(guest, other, nullptr), both, both);
  // The guest is ahead, and may be slower than that; where it is behind, it may be faster.
  CHECK(probability_faster(guest, bare, nullptr) ==
        Approx(probability(std::log(1.1), std::hypot(own, 0.4))).epsilon(1e-5));
  CHECK(probability_faster(bare, result("vm", 90), nullptr) ==
        Approx(probability(std::log(100.0 / 90), std::hypot(own, 0.1))).epsilon(1e-5));
}

} // namespace foretrain::guest_test
