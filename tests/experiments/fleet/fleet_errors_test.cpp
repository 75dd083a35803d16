// Fleet files that cannot be meant: each is refused where the mistake is, with what would be right.
#include "experiments/fleet/fleet.hpp"
#include "experiments/fleet/fleet_answer.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/fleet/small_fleet.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::fleet_errors_test {

using namespace foretrain::experiments;
using test::answer;
using test::load;
using test::with_trace;

namespace {

const std::string kTrace = "1 0 0 100 2 -1 -1 2 200 -1 1 1 0 -1 0 -1 -1 -1\n";

} // namespace

TEST_CASE("what is wrong with a job of a fleet is told where the fleet says it", "[fleet]")
{
  const auto refused = [](const std::string& more, const std::string& why) {
    CAPTURE(more);
    CHECK_THROWS_WITH(answer(load(R"({"cluster": {"platform": "hgx-h100", "nodes": 2},
          "arrivals": {"process": "even", "per_hour": 1, "until": "1.5 h", "mix": [{"steps": 10,
            "job": {"model": "llama-3-8b", "framework": "megatron", "precision": "bf16",
                    "gpus": 8, "sequence": 4096, "batch_per_gpu": 1)" +
                                  more + "}}]}}")),
                      Catch::Contains(why));
  };
  refused(R"(, "parallel": {"tensor": 3})",
          "(/arrivals/mix/0/job): error: /jobs/0/parallel/tensor is 3");
  CHECK_THROWS_WITH(answer(load(R"({"cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 2},
        "stack": {"network": "flanel"}, "arrivals": {"process": "even", "per_hour": 1,
        "until": "1.5 h", "mix": [{"steps": 10, "job": {"model": "resnet50",
          "framework": "pytorch-ddp", "batch_per_gpu": 64, "gpus": 8}}]}})")),
                    Catch::Contains("(/stack): error: /stack/network") &&
                        Catch::Contains("flannel-udp"));
  // What a fleet decides is not said in vain.
  refused(R"(, "placement": "spread")", "/arrivals/mix/0/job/placement is the policy's");
  refused(R"(, "tokens": "1T")", "/arrivals/mix/0/job/tokens stands beside the job");
}

TEST_CASE("what no cluster does is refused", "[fleet]")
{
  const auto refused = [](const std::string& cluster, const std::string& more,
                          const std::string& why) {
    CHECK_THROWS_WITH(load(R"({"cluster": {"gpus_per_node": 1, "nodes": 2)" + cluster +
                           R"(}, "arrivals": {"per_hour": 1, "until": "2 h",
                              "mix": [{"gpus": 1, "run_time": "1 h"}]})" +
                           more + "}"),
                      Catch::Contains(why));
  };
  refused(R"(, "power": {"gpu_busy": 100, "gpu_idle": 500})", "",
          "/cluster/power/gpu_idle is 500 W, more than the 100 W of gpu_busy");
  refused("", R"(, "failures": {"per_1000_node_days": 1e9})", "/failures/per_1000_node_days");
}

TEST_CASE("a spread without a law that has one is refused", "[fleet]")
{
  const auto mix = [](const std::string& more) {
    return load(R"({"cluster": {"gpus_per_node": 1, "nodes": 2}, "arrivals": {"per_hour": 1,
        "until": "2 h", "mix": [{"gpus": 1, "run_time": "1 h")" +
                more + "}]}}");
  };
  CHECK_THROWS_WITH(mix(R"(, "spread": 2)"),
                    Catch::Contains("/arrivals/mix/0/spread is only of the law log-normal, and "
                                    "the law is fixed"));
  CHECK_THROWS_WITH(mix(R"(, "law": "exponential", "spread": 2)"), Catch::Contains("exponential"));
  CHECK_NOTHROW(mix(R"(, "law": "log-normal", "spread": 2)"));
}

TEST_CASE("a fleet tells which of its jobs no GPU holds", "[fleet]")
{
  const auto warnings = [](int batch) {
    return answer(load(R"({"cluster": {"platform": "c4140-k-v100-sxm2", "nodes": 2},
        "arrivals": {"process": "even", "per_hour": 1, "until": "1.5 h", "mix": [
          {"steps": 10, "job": {"model": "resnet50", "framework": "pytorch-ddp",
                                "batch_per_gpu": 64, "gpus": 8}},
          {"steps": 10, "job": {"model": "resnet50", "framework": "pytorch-ddp",
                                "batch_per_gpu": )" +
                       std::to_string(batch) + R"(, "gpus": 4}}]}})"))
        .warnings;
  };
  CHECK(warnings(32).empty());
  const auto told = warnings(4096);
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0],
             Catch::Contains("/arrivals/mix/1/job: about") && Catch::Contains("would not run"));
}

TEST_CASE("a fleet file is told what is wrong with it", "[fleet]")
{
  const test::TextFile trace("jobs.swf", kTrace);
  const auto refused = [&](const std::string& more, const std::string& why) {
    CAPTURE(more);
    CHECK_THROWS_WITH(load(with_trace(trace, more)), Catch::Contains(why));
  };
  refused(R"("policy": "esay", )", "did you mean 'easy'?");
  refused(R"("policy": {"order": "fifo", "backfil": "easy"}, )", "did you mean 'backfill'?");
  refused(R"("policy": {"backfill": "easy", "depth": 9}, )",
          "/policy/depth is only of conservative backfilling");
  refused(R"("stack": {"network": "tcp"}, )", "/stack needs a platform in /cluster");
  refused(R"("policy": {"quantum": "1 h"}, )", "/policy/quantum is only of preemption by quantum");
  refused(R"("policy": {"order": "las", "half_life": "1 h"}, )",
          "/policy/half_life is only of the order fair-share");
  refused(R"("arrivals": {"per_hour": 1, "until": "1 d", "mix": []}, )",
          "must have either jobs or arrivals");
  refused(R"("failures": {}, )", "must have either a trace, or per_1000_node_days");
  refused(R"("failures": {"per_1000_node_days": 5}, )", "/failures");
  refused(R"("failures": {"gpus": {"per_1000_days": 5}}, )", "/failures/repair");
  refused(R"("failures": {"storage": {"per_1000_days": 5, "takes": "gpu",
                                      "repair": {"median": "1 h", "mean": "2 h"}}}, )",
          "/failures/storage/takes is not a known key");
  refused(R"("failures": {"gpus": {"per_1000_days": 5, "repair": {"median": "3 h",
                                                                  "mean": "2 h"}}}, )",
          "/failures/gpus/repair/mean");
  refused(R"("failures": {"per_1000_node_days": 5, "repair": {"median": "1 h", "mean": "1 h"},
                          "lemons": {"nodes": 0, "failures": 0.4}}, )",
          "/failures/lemons must have nodes and failures above 0");
  const std::string drawn =
      R"("failures": {"per_1000_node_days": 5, "repair": {"median": "1 h", "mean": "1 h"}, )";
  refused(drawn + R"("spare_start": "1 h"}, )", "needs spares");
  refused(drawn + R"("drained": 1.5}, )", "/failures/drained must be at most 1");
  refused(R"("failures": {"per_1000_switch_days": 5, "drained": 0.5,
                          "repair": {"median": "1 h", "mean": "1 h"}}, )",
          "needs per_1000_node_days, or gpus that take their node");
  refused(drawn + R"("keep_place": true}, "policy": "kubernetes", )", "needs a policy with gangs");
  refused(R"("failures": {"per_1000_node_days": 5, "repair": {"median": "5 h", "mean": "1 h"}}, )",
          "must be at least the median");
  refused(R"("checkpoint": {"interval": "best", "write": "1 s"}, )",
          "needs failures with per_1000_node_days");
  refused(drawn + R"("detect": "1 s"}, "checkpoint": {"interval": "1 h", "write": "1 s",
                                                      "to": "neighbour"}, )",
          "needs failures with keep_place to be neighbour");
  refused(R"("checkpoint": {"interval": "1 h", "write": "1 s", "to": "disk"}, )",
          "/checkpoint/to must not be disk beside write and rate");
  refused(R"("checkpoint": {"interval": "-1 s", "write": "1 s"}, )", "/checkpoint/interval");
  refused(R"("checkpoint": {"interval": "1 ns", "write": "1 s"}, )",
          "/checkpoint/interval must be at least 1");
  refused(R"("checkpoint": {"interval": "simulated", "write": "1 s"}, )",
          "needs failures with per_1000_node_days, per_1000_switch_days or gpus to be simulated");
  refused(R"("checkpoint": {"interval": "1 h", "write": "1 s", "read_rate": "1 GB/s"}, )",
          "/checkpoint/read_rate must not be given without rate");
  refused(R"("checkpoint": {"interval": "1 h", "bytes_per_gpu": "1 GB", "rate": "1 GB/s",
                            "read_rate": "1 GB/s", "read": "1 s"}, )",
          "/checkpoint/read must not be given beside read_rate");
  refused(R"("maintenance": [{"from": "0 s", "length": "1 s", "times": 2}], )",
          "/maintenance/0/every is missing");
  refused(R"("maintenance": [{"from": "0 s", "length": "3 s", "times": 2, "every": "2 s"}], )",
          "/maintenance/0/every must be at least the length");
  refused(R"("maintenance": [{"from": "0 s", "length": "3 s", "first_node": 2, "nodes": 3}], )",
          "/maintenance/0/nodes goes beyond the last node, 3");
  refused(R"("maintenance": [{"from": "0 s", "length": "3 s", "first_node": 4}], )",
          "/maintenance/0/first_node goes beyond");
  refused(drawn + R"("shape": 0.7}, )", "/failures/shape is only for Weibull's law");
  refused(R"("queues": [{"name": "a"}, {"name": "a"}], )", "is the name of another queue");
  refused(R"("expect": [{"quantity": "wait_s/p90", "at_most": 1}], )",
          "/expect/0/quantity must be a JSON pointer into the answer");
  refused(R"("expect": [{"quantity": "/wait_s/p90"}], )",
          "/expect/0 must have at_least or at_most");
  const auto replay_refused = [&](const std::string& more, const std::string& why) {
    CAPTURE(more);
    CHECK_THROWS_WITH(load(R"({"cluster": {"platform": "dgx1-v100", "nodes": 4}, "jobs": {
                             "kind": "swf", "trace": ")" +
                           trace.path().string() + "\"" + more + "}}"),
                      Catch::Contains(why));
  };
  const std::string resnet = R"("job": {"model": "resnet50", "framework": "pytorch-ddp", )"
                             R"("batch_per_gpu": 64, "precision": "fp16")";
  replay_refused(R"(, "speed": "simulated")", "/jobs must have a job where speeds are simulated");
  replay_refused(", " + resnet + "}", "/jobs must have a job where speeds are simulated");
  replay_refused(R"(, "speed": "simulated", )" + resnet + R"(, "gpus": 4})",
                 "/jobs/job/gpus must be left out: the trace has them");
  replay_refused(R"(, "speed": "simulated", )" + resnet + R"(, "placement": "spread"})",
                 "/jobs/job/placement is the policy's");
  const auto drawn_refused = [](const std::string& more, const std::string& why) {
    CAPTURE(more);
    CHECK_THROWS_WITH(load(R"({"cluster": {"platform": "dgx1-v100", "nodes": 1}, "arrivals": {
                             "per_hour": 1, "until": "3 d")" +
                           more + "}}"),
                      Catch::Contains(why));
  };
  const std::string short_jobs = R"(, "mix": [{"gpus": 1, "run_time": "1 h"}])";
  drawn_refused(R"(, "by_weekday": [1, 1, 1])" + short_jobs,
                "/arrivals/by_weekday must hold 7 numbers, got 3");
  drawn_refused(R"(, "by_weekday": [0, 0, 0, 0, 0, 0, 0])" + short_jobs,
                "/arrivals/by_weekday must hold a number above 0");
  drawn_refused(R"(, "mix": [{"gpus": 1}])",
                "/arrivals/mix/0 must have a job, or gpus and run_time");
  drawn_refused(R"(, "mix": [{"gpus": 1, "run_time": "1 h", "tokens": "1B"}])",
                "/arrivals/mix/0/tokens needs a job");
  const std::string of_job = R"(, "mix": [{)" + resnet;
  drawn_refused(of_job + "}}]", "/arrivals/mix/0 must have either epochs, steps or tokens");
  drawn_refused(of_job + R"(}, "steps": 1, "epochs": 1}])",
                "/arrivals/mix/0 must have either epochs, steps or tokens");
  drawn_refused(of_job + R"(}, "steps": 1, "gpus": 1}])",
                "/arrivals/mix/0/gpus must not be given beside a job");
  CHECK_THROWS_WITH(load(R"({"cluster": {"nodes": 1, "gpus_per_node": 8}, "arrivals": {
                      "per_hour": 1e9, "until": "3 d", "mix": [{"gpus": 1, "run_time": "1 h"}]}})"),
                    Catch::Contains("makes 7.2e+10 jobs in 3 days; at most 10000000"));
  CHECK_THROWS_AS(load(with_trace(trace), {"/cluster/nodes"}), UsageError);
  CHECK(load(with_trace(trace), {"/cluster/nodes=9"}).shape.nodes == 9);
}

TEST_CASE("a cluster that is none is refused", "[fleet]")
{
  const auto [cluster, why] = GENERATE(table<std::string, std::string>({
      {R"("nodes": 1)", "/cluster must have a platform, or gpus_per_node"},
      {R"("nodes": 1, "platform": "dgx1-v100", "gpus_per_node": 4)",
       "/cluster/gpus_per_node must be that of the platform, 8, or be left out"},
      {R"("nodes": 9999999, "platform": "dgx1-v100")", "/cluster/nodes must be at most"},
      {R"("nodes": 1, "gpus_per_node": 8, "price_per_gpu_hour": -1)",
       "/cluster/price_per_gpu_hour must be a price that is not negative, got -1"},
  }));
  CAPTURE(cluster);
  CHECK_THROWS_WITH(load(R"({"arrivals": {"per_hour": 1, "until": "1 d", "mix": [
                           {"gpus": 1, "run_time": "1 h"}]}, "cluster": {)" +
                         cluster + "}}"),
                    Catch::Contains(why));
  CHECK(load(R"({"arrivals": {"per_hour": 1, "until": "1 d", "mix": [
               {"gpus": 1, "run_time": "1 h"}]}, "cluster": {
               "nodes": 2, "platform": "dgx1-v100", "gpus_per_node": 8}})")
            .shape.gpus_per_node == 8);
}

TEST_CASE("what a fleet simulates needs what is simulated", "[fleet]")
{
  const std::string job = R"("job": {"model": "resnet50", "framework": "pytorch-ddp",
                                     "batch_per_gpu": 64, "precision": "fp16", "gpus": 8})";
  const auto refused = [](const std::string& cluster, const std::string& mix,
                          const std::string& more, const std::string& why) {
    CAPTURE(cluster, mix, more);
    CHECK_THROWS_WITH(load(R"({"cluster": {"nodes": 2, )" + cluster + R"(}, "arrivals": {
                             "per_hour": 1, "until": "1 d", "mix": [)" +
                           mix + "]}" + more + "}"),
                      Catch::Contains(why));
  };
  const std::string dgx = R"("platform": "dgx1-v100")", bare = R"("gpus_per_node": 8)";
  const std::string steps = "{" + job + R"(, "steps": 9})",
                    timed = R"({"gpus": 1, "run_time": "1 h"})";
  refused(dgx, "", "", "/arrivals/mix must hold at least one kind of job");
  refused(bare, steps, "", "/cluster/platform is missing: speeds are simulated");
  refused(dgx, "{" + job + R"(, "steps": 9, "run_time": "1 h"})", "",
          "/arrivals/mix/0/run_time must not be given beside a job");
  refused(dgx, R"({"gpus": 1, "run_time": "1 h", "epochs": 1})", "",
          "/arrivals/mix/0/epochs needs a job");
  refused(dgx, R"({"gpus": 1, "run_time": "1 h", "steps": 1})", "",
          "/arrivals/mix/0/steps needs a job");
  refused(dgx, R"({"run_time": "1 h"})", "", "/arrivals/mix/0 must have a job, or gpus and");
  refused(dgx, R"({"job": {"model": "llama-3-8b", "framework": "megatron", "precision": "bf16",
                          "gpus": 8, "sequence": 4096, "global_batch": 8}, "epochs": 1})",
          "", "/arrivals/mix/0/epochs is for data-parallel jobs of a model");
  for (const auto& [key, why] :
       {std::pair{R"("start": "1 h")", "start is when a job comes"},
        {R"("ends": true)", "ends has no meaning in a fleet"},
        {R"("epochs": 3)", "epochs stands beside the job in a fleet"},
        {R"("training_steps": 3)", "training_steps stands beside the job in a fleet, as steps"}})
    refused(dgx, R"({"job": {"gpus": 8, )" + std::string(key) + R"(}, "steps": 9})", "",
            std::string("/arrivals/mix/0/job/") + why);
  const std::string hourly = R"(, "checkpoint": {"interval": "1 h")";
  refused(bare, timed, hourly + "}", "/checkpoint must have write, or rate, with bytes_per_gpu");
  refused(dgx, steps, hourly + R"(, "read": "1 s"})",
          "/checkpoint/read must be left out where writes are simulated");
  refused(bare, timed, hourly + R"(, "write": "1 s", "rate": "1 GB/s"})",
          "/checkpoint/write must not be given beside bytes_per_gpu and rate");
  refused(bare, timed, R"(, "maintenance": [{"from": "0 s", "length": "1 s"}], "reservations": [
            {"from": "0 s", "length": "1 s"}])",
          "/reservations/0 must have accounts or queues");
  refused(bare, timed, R"(, "expect": [{"quantity": "/ettr", "at_least": 1, "point": 3}])",
          "/expect/0/point must be an object of pointers and values, got 3");
  refused(bare, timed, R"(, "expect": [{"quantity": "/ettr", "at_least": 1, "than": "easy"}])",
          "/expect/0/than must be an object of pointers and values, got \"easy\"");
  refused(bare, timed, R"(, "policy": "recorded")", "/policy needs leases of recorded jobs");
}

TEST_CASE("unfinished jobs are those of a trace that tells them, at recorded speed", "[fleet]")
{
  const test::TextFile trace("jobs.swf", kTrace);
  CHECK_THROWS_WITH(load(R"({"cluster": {"nodes": 4, "gpus_per_node": 1}, "jobs": {"kind": "swf",
                           "take": "unfinished", "trace": ")" +
                         trace.path().string() + "\"}}"),
                    Catch::Contains("/jobs/take must be ended for traces of swf: only sacct"));
  CHECK_THROWS_WITH(
      load(R"({"cluster": {"nodes": 4, "platform": "dgx1-v100"}, "jobs": {
                           "kind": "sacct", "take": "unfinished", "speed": "simulated",
                           "job": {"model": "resnet50"}, "trace": ")" +
           trace.path().string() + "\"}}"),
      Catch::Contains("/jobs/speed must be recorded where unfinished jobs are taken"));
}

TEST_CASE("one fleet is not a sweep of several, nor of seeds", "[fleet]")
{
  const test::TextFile trace("jobs.swf", kTrace);
  CHECK_THROWS_WITH(load(with_trace(trace, R"("sweep": {"/policy": ["fifo", "easy"]}, )")),
                    Catch::Contains("/sweep makes 2 points, and one fleet is needed here"));
  CHECK_THROWS_WITH(load(with_trace(trace, R"("seeds": 2, "sweep": {"/seeds": [1, 2]}, )")),
                    Catch::Contains("/sweep varies /seeds, and all points are simulated with the "
                                    "same seeds"));
  CHECK_THROWS_WITH(load("[1]"), Catch::Contains("must be a JSON object, got "));
}

} // namespace foretrain::fleet_errors_test
