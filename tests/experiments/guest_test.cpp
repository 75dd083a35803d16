// What an untold guest does to intervals and comparisons.
#include "experiments/answers/comparisons.hpp"
#include "platforms/guest_quality.hpp"
#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::guest_test {

using namespace foretrain::experiments;
using namespace foretrain::test;

namespace {

JobResult on(const std::string& host, const std::string& more = "")
{
  const std::string text = R"({"cluster": {"platform": "nthu-gtx1080"}, "stack": {"host": )" +
                           host +
                           R"(}, "jobs": [{"model": "resnet50", "framework": "tensorflow-horovod",
                               "batch_per_gpu": 64, "gpus": 1)" +
                           more + "}]}";
  return run_text(text).jobs[0];
}

JobResult result(const char* host, double rate)
{
  JobResult job;
  job.throughput = {rate, rate, rate, 0.9};
  job.uncertainty = Uncertainty{"linear", 0, 0.03, {}};
  if (host != nullptr)
    job.uncertainty->guest = GuestSpread{host, 0.4 * 1.644854};
  return job;
}

double probability(double mean, double deviation)
{
  return 0.5 * std::erfc(-mean / deviation / std::sqrt(2.0));
}

} // namespace

TEST_CASE("an untold guest may be slower, and no faster", "[guest]")
{
  const JobResult known = on(R"({"extends": "vm", "quality": []})");
  const JobResult untold = on(R"("vm")");
  const double slower = untold.uncertainty->guest->slower;
  CHECK_FALSE(known.uncertainty->guest);
  CHECK(untold.uncertainty->guest->host == "virtual machine");
  CHECK(untold.throughput.median == known.throughput.median);
  CHECK(untold.throughput.high == known.throughput.high);
  CHECK(untold.step_time.low == known.step_time.low);
  const auto below = [](const Range& range) { return std::log(range.median / range.low); };
  const auto above = [](const Range& range) { return std::log(range.high / range.median); };
  CHECK(below(untold.throughput) ==
        Approx(std::hypot(below(known.throughput), slower)).epsilon(1e-9));
  CHECK(above(untold.step_time) ==
        Approx(std::hypot(above(known.step_time), slower)).epsilon(1e-9));
  CHECK(slower > 0.3); // a twentieth of all guests lose more than a quarter
}

TEST_CASE("guests of one layer are alike, those of two are not", "[guest][closed-form]")
{
  const JobResult bare = result(nullptr, 100);
  const JobResult guest = result("vm", 110);
  const double own = std::hypot(0.03, 0.03);
  const JobResult alike = result("vm", 90), other = result("container-on-vm", 90);
  CHECK(guest_variance(&guest, &bare) == Approx(0.16).epsilon(1e-5));
  CHECK(guest_variance(&guest, nullptr) == guest_variance(&guest, &bare));
  CHECK(guest_variance(&bare, &guest) == 0);
  CHECK(guest_variance(nullptr, &guest) == 0);
  CHECK(guest_variance(&guest, &alike) == 0);
  CHECK(guest_variance(&guest, &other) == Approx(0.16).epsilon(1e-5));
  // The guest is ahead, and may be slower than that; where it is behind, it only may be more so.
  CHECK(probability_faster(guest, bare, nullptr) ==
        Approx(probability(std::log(1.1), std::hypot(own, 0.4))).epsilon(1e-5));
  CHECK(probability_faster(bare, result("vm", 90), nullptr) ==
        Approx(probability(std::log(100.0 / 90), own)).epsilon(1e-9));
}

} // namespace foretrain::guest_test
