// Queues that a fleet names: their quotas, and what is said of those that nobody is in.
#include "experiments/fleet/fleet_answer.hpp"
#include "experiments/fleet/fleet_compare.hpp"
#include "experiments/fleet/fleet_text.hpp"
#include "tests/experiments/fleet/small_fleet.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::fleet_queues_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;
using test::answer;
using test::load;

namespace {

// Jobs of four GPUs, 90 minutes each, one an hour, in a queue that has half of eight.
std::string half(const std::string& more, const std::string& queue = "a")
{
  return R"({"cluster": {"nodes": 2, "gpus_per_node": 4}, "policy": "fifo",
    "queues": [{"name": "a", "quota_gpus": 4)" +
         more + R"(}, {"name": "batch", "quota_gpus": 4}],
    "arrivals": {"process": "even", "per_hour": 1, "until": "3.5 h",
                 "mix": [{"queue": ")" +
         queue + R"(", "gpus": 4, "run_time": "90 min"}]}})";
}

} // namespace

TEST_CASE("a quota that nobody uses may be borrowed", "[fleet][closed-form]")
{
  const FleetAnswer borrows = answer(load(half("")));
  CHECK(borrows.jobs.completed == 3);
  CHECK(borrows.wait_s->mean.median == 0);
  const FleetAnswer own = answer(load(half(R"(, "borrow": false)")));
  CHECK(own.jobs.completed == 3);
  CHECK_THAT(own.wait_s->mean.median, test::is((0 + 1800 + 3600) / 3.0));
  const auto larger = [](const std::string& more) {
    return answer(load(half(more), {"/arrivals/mix/0/gpus=5"})).jobs;
  };
  CHECK(larger("").completed == 3);
  CHECK(larger(R"(, "borrow": false)").rejected == 3);
}

TEST_CASE("queues that nobody is in, and names that are no queue's, are told", "[fleet]")
{
  CHECK(answer(load(half(""), {R"(/queues=[{"name": "a"}])"})).warnings.empty());
  const auto idle = answer(load(half(""))).warnings;
  REQUIRE(idle.size() == 1);
  CHECK(idle.front() == "/queues/1: no job is in queue 'batch'");
  const auto misspelt = answer(load(half("", "bacth"))).warnings;
  REQUIRE(misspelt.size() == 3);
  CHECK_THAT(misspelt[1], Contains("'batch'; did you mean 'bacth'?"));
  CHECK_THAT(misspelt[2], Contains("/arrivals/mix/0: queue 'bacth' is not in /queues") &&
                              Contains("did you mean 'batch'?"));
  CHECK_THAT(fleet_table(answer(load(half("", "bacth")))), Contains("did you mean 'batch'?"));
}

TEST_CASE("a key of a policy that has a name is no key of the name", "[fleet]")
{
  CHECK_THROWS_WITH(load(half(""), {"/policy/order=sjf"}),
                    Contains("/policy is \"fifo\", which has no keys"));
}

} // namespace foretrain::fleet_queues_test
