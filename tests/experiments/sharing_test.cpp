#include "experiments/run/simulate/sharing.hpp"

#include "tests/experiments/point.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::sharing_test {

using namespace foretrain::experiments;

namespace {

// A program that copies a gigabyte from its GPU to the host.
Json copying(const std::string& name, int gpu)
{
  const Json operation = {{"kind", "offload"}, {"phase", "input"}, {"rank", 0},
                          {"stream", "copy"},  {"to_host", true},  {"size_byte", 1e9}};
  return {{"name", name},
          {"program",
           {{"name", "copy"},
            {"streams", {"compute", "copy", "comm"}},
            {"ranks", Json::array({Json{{"device", 0}}})},
            {"operations", Json::array({operation})},
            {"samples_per_step", 1},
            {"device_memory_byte", 1e9}}},
          {"framework", "pytorch-ddp"},
          {"gpus", 1},
          {"placement", Json::array({Json::array({0, gpu})})}};
}

PointResult copying_on(const char* platform)
{
  return test::run_text(Json({{"cluster", {{"platform", platform}, {"nodes", 1}}},
                              {"jobs", Json::array({copying("a", 0), copying("b", 1)})}})
                            .dump());
}

} // namespace

TEST_CASE("Copies meet on the switch that both pass, and are slowed by half")
{
  for (const JobResult& job : copying_on("c4140-k-v100-sxm2").jobs) {
    CHECK(job.slowdown.value() == Approx(2).epsilon(1e-3));
    REQUIRE(job.meeting);
    CHECK(job.meeting->resource == "node0/plx0/pcie/up");
    CHECK(job.meeting->added.value() == Approx(job.step_time.median / 2).epsilon(1e-3));
  }
}

TEST_CASE("What is busiest of a job's is never a link of its neighbour's GPU")
{
  const auto jobs = copying_on("c4140-m-v100-sxm2").jobs; // a slot for each GPU
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    CHECK(jobs[i].slowdown.value() == Approx(1));
    const auto has = [&](int gpu) {
      const std::string link = "node0/gpu" + std::to_string(gpu) + "/";
      return std::ranges::any_of(
          jobs[i].busiest, [&](const ResourceUse& use) { return use.resource.starts_with(link); });
    };
    CHECK(has(static_cast<int>(i)));
    CHECK_FALSE(has(1 - static_cast<int>(i)));
  }
}

TEST_CASE("Jobs meet where one waits most beyond what it does alone, counted for one rank")
{
  const auto of = [](sim::ResourceKind kind, double seconds) {
    return Limited{{kind, 0, ""}, seconds};
  };
  using enum sim::ResourceKind;
  const LimitedPerStep alone{{"link", of(pcie, 4)}, {"disk", of(disk, 1)}};
  const LimitedPerStep together{
      {"link", of(pcie, 10)}, {"disk", of(disk, 3)}, {"gpu", of(compute, 60)}};
  const auto shared = [](const sim::Resource& resource) { return resource.kind != compute; };
  const auto meeting = meeting_resource(together, alone, 3, Seconds(5), shared);
  REQUIRE(meeting);
  CHECK(meeting->resource == "link");
  CHECK_THAT(meeting->added.value(), test::is(2));
  // No more than the step has grown.
  CHECK_THAT(meeting_resource(together, alone, 3, Seconds(1.5), shared)->added.value(),
             test::is(1.5));
  CHECK(!meeting_resource(alone, alone, 3, Seconds(5), shared));
}

} // namespace foretrain::sharing_test
