#include "experiments/fleet/policy_command.hpp"

#include "experiments/fleet/fleet.hpp"
#include "experiments/fleet/fleet_answer.hpp"
#include "experiments/fleet/fleet_text.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::policy_command_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

const std::string kTrace = "1 0 0 100 2 -1 -1 2 200 -1 1 1 0 -1 0 -1 -1 -1\n"
                           "2 0 0 50 4 -1 -1 4 60 -1 1 1 0 -1 1 -1 -1 -1\n"
                           "3 0 0 30 2 -1 -1 2 40 -1 1 1 0 -1 0 -1 -1 -1\n";

FleetRun run_with(const std::string& command, int seeds = 1)
{
  const test::TextFile trace("jobs.swf", kTrace);
  const test::TextFile file("fleet.json",
                            R"({"name": "small", "cluster": {"nodes": 4, "gpus_per_node": 1},
                                "jobs": {"kind": "swf", "trace": ")" +
                                trace.path().string() + "\"}}");
  FleetOptions options{1, seeds, false, {}};
  options.policy_command = command;
  return run_fleet(load_fleet(file.path(), {}, ""), options).back();
}

// Answers every line with the number of the last job that waits and fits.
const std::string kLastThatFits =
    "python3 -c 'import json, sys\n"
    "for line in sys.stdin:\n"
    "    asked = json.loads(line)\n"
    "    fits = [w[\"job\"] for w in asked[\"waiting\"] if w[\"gpus\"] <= sum(asked[\"free\"])]\n"
    "    print(json.dumps({\"start\": fits[-1:]}), flush=True)'";

} // namespace

TEST_CASE("a command decides which jobs start", "[fleet]")
{
  const FleetRun run = run_with(kLastThatFits);
  REQUIRE(run.result.jobs.size() == 3);
  CHECK(run.result.jobs[2].start == Seconds(0)); // two of four GPUs
  // A decision starts one job; the next is asked for when something happens.
  CHECK(run.result.jobs[1].start == Seconds(30));
  CHECK(run.result.jobs[0].start == Seconds(80));
}

TEST_CASE("a command stops jobs and says when it wants to be asked", "[fleet]")
{
  // The first job to come runs 10 s of each 20 s, the second one the others.
  const FleetRun run =
      run_with("python3 -c 'import json, sys\n"
               "for line in sys.stdin:\n"
               "    asked = json.loads(line)\n"
               "    turn = asked[\"waiting\"][0][\"job\"]\n"
               "    stop = [job[\"job\"] for job in asked[\"running\"]]\n"
               "    print(json.dumps({\"stop\": stop, \"start\": [turn], \"again_s\": 10,\n"
               "                      \"when_full\": True}), flush=True)'");
  for (const auto& job : run.result.jobs)
    CHECK(job.state == models::fleet::JobState::completed);
  CHECK(run.result.jobs[0].preemptions + run.result.jobs[1].preemptions > 5);
}

TEST_CASE("the same command serves all seeds", "[fleet]")
{
  CHECK(run_with(kLastThatFits, 3).seed == 3);
}

TEST_CASE("a command that dies, is nonsense or silent is told", "[fleet]")
{
  CHECK_THROWS_WITH(run_with("exit 3"), Contains("ended with exit code 3"));
  CHECK_THROWS_WITH(run_with("read line; kill -9 $$"), Contains("was ended by signal 9"));
  CHECK_THROWS_WITH(run_with("nonsuch-command 2>/dev/null"), Contains("ended with exit code 127"));
  CHECK_THROWS_WITH(run_with("read line; echo hello; cat"),
                    Contains("answered 'hello'") && Contains("is not valid JSON"));
  CHECK_THROWS_WITH(run_with("read line; echo '{}'; cat >/dev/null"),
                    Contains("an object with a list \"start\""));
  CHECK_THROWS_WITH(run_with("read line; echo '{\"start\": [\"1\"]}'; cat >/dev/null"),
                    Contains("/start/0 must be the number of a job"));
  CHECK_THROWS_WITH(run_with("read line; echo '{\"start\": [{\"job\": 0, \"node\": 1}]}'; cat"),
                    Contains("did you mean 'nodes'?"));
  CHECK_THROWS_WITH(run_with("read line; echo '{\"start\": [], \"again\": 5}'; cat >/dev/null"),
                    Contains("did you mean 'again_s'?"));
  CHECK_THROWS_WITH(run_with("read line; echo '{\"start\": [], \"again_s\": 0}'; cat >/dev/null"),
                    Contains("/again_s"));
  CHECK_THROWS_WITH(run_with("read line; echo '{\"stop\": 4}'; cat >/dev/null"),
                    Contains("/stop must be a list of jobs"));
  CHECK_THROWS_WITH(run_with("read line; echo '{\"start\": [9]}'; cat >/dev/null"),
                    Contains("job 9") && Contains("does not wait"));
}

TEST_CASE("a command that is too slow is told, and ended", "[fleet]")
{
  const models::fleet::Workload workload{{{}}, {"default"}, {""}};
  const models::fleet::Scheduler scheduler(workload, {1, 1, 0}, {}, {{}});
  PolicyCommand command("sleep 60");
  command.set_patience(std::chrono::milliseconds(50));
  CHECK_THROWS_WITH(command.decide(scheduler, workload, 1),
                    Contains("did not answer within 0.05 s"));
}

} // namespace foretrain::policy_command_test
