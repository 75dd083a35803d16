#include "models/fleet/simulation.hpp"

#include "sim/base/error.hpp"
#include "tests/models/fleet/workload.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::decided_test {

using namespace foretrain::models::fleet;
using Catch::Matchers::Contains;

namespace {

// Jobs of one hour that come at once: as many GPUs as told.
Workload at_once(const std::vector<int>& gpus)
{
  Workload workload;
  for (const int wanted : gpus)
    workload.jobs.push_back(test::job(0, wanted, 3600));
  return workload;
}

FleetSetting setting(Decide decide)
{
  FleetSetting setting = test::one_gpu_nodes(2);
  setting.shape = {2, 4, 0};
  setting.decide = std::move(decide);
  return setting;
}

// The first that fits, by order of arrival.
std::vector<Decision> first_that_fits(const Scheduler& s)
{
  for (const Waiting& waiting : s.waiting())
    if (!waiting.gone && waiting.gpus <= s.free().count())
      return {{waiting.job}};
  return {};
}

} // namespace

TEST_CASE("whoever decides is asked while jobs wait and GPUs are free", "[fleet]")
{
  int asked = 0;
  const auto result =
      simulate(at_once({8, 4, 4}), setting([&](const Scheduler& s) {
                 ++asked;
                 CHECK(s.free().count() > 0);
                 CHECK(s.count_waiting() > 0);
                 const bool first = s.now() == Seconds(0);
                 return first ? std::vector<Decision>{{2}, {1}} : std::vector<Decision>{{0}};
               }));
  CHECK(asked == 2); // at the start, and when both have ended
  CHECK(result.jobs[2].start == Seconds(0));
  CHECK(result.jobs[1].start == Seconds(0));
  CHECK(result.jobs[0].start == Seconds(3600));
}

TEST_CASE("decisions are carried out in their order, on the nodes that they name", "[fleet]")
{
  auto with_history = setting([](const Scheduler& s) {
    return s.running() == 0 ? std::vector<Decision>{{1, {1}}, {0, {0, 1}}}
                            : std::vector<Decision>{};
  });
  with_history.history = true;
  const auto result = simulate(at_once({2, 3}), with_history);
  REQUIRE(result.spans.size() == 3);
  for (const HeldSpan& span : result.spans) {
    if (span.job == 1)
      CHECK((span.slice.node == 1 && span.slice.gpus == 0b0111));
    else
      CHECK(span.slice.gpus == (span.slice.node == 0 ? 0b0001U : 0b1000U));
  }
}

TEST_CASE("jobs that are not started wait for others, and stay when nobody decides", "[fleet]")
{
  const auto idle =
      simulate(at_once({1}), setting([](const Scheduler&) { return std::vector<Decision>{}; }));
  CHECK(idle.jobs[0].state == JobState::waiting);
  CHECK(idle.jobs[0].waited_for == Cause::order);
  const auto one = simulate(at_once({8, 8}), setting(first_that_fits));
  CHECK(one.jobs[1].start == Seconds(3600));
  CHECK(one.jobs[1].waited_for == Cause::gpus);
}

TEST_CASE("decisions that cannot be carried out are refused by job and time", "[fleet]")
{
  const auto refused = [](const Decision& decision, const std::string& why) {
    CHECK_THROWS_WITH(
        simulate(at_once({3, 4, 6}), setting([&](const Scheduler&) {
                   return std::vector<Decision>{{0, {0}}, decision};
                 })),
        Contains("the policy starts job " + std::to_string(decision.job) + " at 0 s") &&
            Contains(why));
  };
  refused({0, {}}, "which does not wait");
  refused({7, {}}, "which does not wait");
  refused({2, {}}, "which needs 6 GPUs, 5 are free");
  refused({1, {2}}, "on node 2, which is none of 0 to 1");
  refused({1, {1, 1}}, "on node 1, which is named twice");
  refused({1, {0, 1, 1}}, "whose 4 GPUs 3 nodes do not share");
}

TEST_CASE("a node that has too few GPUs is told", "[fleet]")
{
  CHECK_THROWS_WITH(simulate(at_once({3, 2}), setting([](const Scheduler&) {
                               return std::vector<Decision>{{0, {0}}, {1, {0}}};
                             })),
                    Contains("with 2 GPUs on node 0, which has 1 free"));
}

TEST_CASE("what quota or placement do not let start stays in the queue", "[fleet]")
{
  const auto as_many_as_fit = [](const Scheduler& s) {
    std::vector<Decision> some;
    int free = s.free().count();
    for (const Waiting& waiting : s.waiting())
      if (!waiting.gone && waiting.gpus <= free) {
        free -= waiting.gpus;
        some.push_back({waiting.job});
      }
    return some;
  };
  auto limited = setting(as_many_as_fit);
  limited.quotas = {{4, false}};
  const auto by_quota = simulate(at_once({3, 3}), limited);
  CHECK(by_quota.jobs[1].start == Seconds(3600));
  CHECK(by_quota.jobs[1].waited_for == Cause::quota);
  auto together = setting(as_many_as_fit);
  together.policy.placement = Placement::consolidate;
  const auto by_place = simulate(at_once({3, 3, 2}), together); // one is free on each node
  CHECK(by_place.jobs[1].start == Seconds(0));
  CHECK(by_place.jobs[2].start == Seconds(3600));
  CHECK(by_place.jobs[2].waited_for == Cause::fragmentation);
}

TEST_CASE("whoever decides may stop jobs, be asked when all is full, and again after a time",
          "[fleet]")
{
  // Two jobs that need everything take turns of 600 s.
  std::vector<double> asked;
  FleetSetting by_rounds = setting([&](const Scheduler& s) {
    asked.push_back(s.now().value());
    Decisions decisions;
    decisions.ask = Ask::when_full;
    decisions.again = s.now() + Seconds(600);
    const bool first_turn = static_cast<int>(s.now().value() / 600) % 2 == 0;
    const JobId next = first_turn ? 0 : 1;
    const bool waits = std::any_of(s.waiting().begin(), s.waiting().end(),
                                   [&](const Waiting& w) { return !w.gone && w.job == next; });
    if (!waits) { // it has ended
      decisions.start = {{1 - next}};
      return decisions;
    }
    if (s.running() > 0)
      decisions.stop = {1 - next};
    decisions.start = {{next}};
    return decisions;
  });
  const FleetResult result = simulate(at_once({8, 8}), by_rounds);
  CHECK(result.jobs[0].end == Seconds(600 * 11));
  CHECK(result.jobs[1].end == Seconds(7200));
  CHECK(result.jobs[0].preemptions == 5);
  CHECK(result.gpu_time.productive == 2 * 8 * 3600);
  REQUIRE(asked.size() > 3);
  CHECK(asked[2] == 1200);
}

TEST_CASE("a job that does not run cannot be stopped", "[fleet]")
{
  CHECK_THROWS_WITH(simulate(at_once({8, 8}), setting([](const Scheduler&) {
                               Decisions decisions;
                               decisions.stop = {1};
                               return decisions;
                             })),
                    Contains("the policy stops job 1 at 0 s, which does not run"));
}

} // namespace foretrain::decided_test
