// Jobs that run a work program: alone, beside others, and handed over wrongly.
#include "experiments/answers/programs.hpp"
#include "experiments/run/scenario.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <functional>

#include <unistd.h>

namespace foretrain::program_job_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

Json pipeline()
{
  return {{"name", "pipe"}, {"program", "pipeline-2x4"}, {"framework", "pytorch-ddp"}, {"gpus", 2}};
}

LoadedExperiment with_jobs(const Json& jobs)
{
  const auto path = std::filesystem::temp_directory_path() /
                    ("foretrain-program-" + std::to_string(getpid()) + ".json");
  std::ofstream(path) << Json{{"cluster", {{"platform", "c4140-m-v100-sxm2"}, {"nodes", 1}}},
                              {"jobs", jobs}};
  auto loaded = load_experiment(path.string(), {});
  std::filesystem::remove(path);
  return loaded;
}

std::string refusal(const std::function<void()>& of)
{
  try {
    of();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "not refused";
}

PointResult run(const Json& jobs)
{
  RunOptions options;
  options.uncertainty.method = UncertaintyMethod::steps;
  return run_point(with_jobs(jobs).points.front(), options);
}

} // namespace

TEST_CASE("a pipeline from a file takes (m + p - 1) forward and backward passes and its transfers",
          "[program]")
{
  const JobResult job = run(Json::array({pipeline()})).jobs.front();
  // 4 micro-batches on 2 stages, 30 ms each; 16 MiB over two NVLinks take less than a millisecond.
  CHECK(job.step_time.median > 0.150);
  CHECK(job.step_time.median < 0.156);
  CHECK(job.time.bubble.value() > 0.029);
  CHECK(job.time.compute.value() == Approx(0.120).epsilon(0.02)); // GPUs differ by so much
  CHECK(job.time.total().value() == Approx(job.step_time.median).epsilon(1e-6));
  CHECK(job.throughput.median == Approx(4 / job.step_time.median).epsilon(1e-6));
}

TEST_CASE("work of a program's host takes a core for as long as it says", "[program][closed-form]")
{
  const Json program = {{"format", "foretrain.program/1"},
                        {"name", "hosted"},
                        {"streams", {"compute"}},
                        {"ranks", Json::array({{{"device", 0}}})},
                        {"operations",
                         {{{"kind", "compute"},
                           {"phase", "forward"},
                           {"rank", 0},
                           {"stream", "compute"},
                           {"time_s", 0.01}},
                          {{"kind", "host"},
                           {"phase", "framework"},
                           {"rank", 0},
                           {"stream", "compute"},
                           {"time_s", 0.02}}}},
                        {"samples_per_step", 1}};
  const PointResult result = run(Json::array(
      {{{"name", "p"},
        {"program", program},
        {"gpus", 1},
        {"framework", {{"extends", "pytorch-ddp"}, {"step_variation", 0}, {"host_threads", 0}}}}}));
  CHECK(result.jobs.front().step_time.median == Approx(0.03).epsilon(0.02)); // of one GPU's speed
  CHECK(result.node->cores == Approx(2.0 / 3 / 40).epsilon(0.02));           // of 40 cores
}

TEST_CASE("a program shares a machine with other jobs", "[program]")
{
  const Json cnn = {{"name", "cnn"},
                    {"model", "vgg16"},
                    {"framework", "pytorch-ddp"},
                    {"batch_per_gpu", 32},
                    {"gpus", 2}};
  const PointResult both = run(Json::array({pipeline(), cnn}));
  REQUIRE(both.jobs.size() == 2);
  CHECK(both.jobs[0].slowdown.value() > 0.99);
  CHECK(both.jobs[0].step_time.median < 0.17);
}

TEST_CASE("copies between host memory and GPU are named with the link that they fill", "[program]")
{
  for (const bool to_host : {false, true}) {
    const Json copy = {{"format", "foretrain.program/1"},
                       {"name", "copy"},
                       {"source", "none: a test"},
                       {"streams", {"compute"}},
                       {"ranks", {{{"device", 0}}}},
                       {"operations",
                        {{{"kind", "offload"},
                          {"phase", "data"},
                          {"rank", 0},
                          {"size_byte", 1000000000},
                          {"to_host", to_host}}}},
                       {"samples_per_step", 1},
                       {"step_variation", 0}};
    const JobResult job =
        run(Json::array({{{"program", copy}, {"framework", "pytorch-ddp"}, {"gpus", 1}}}))
            .jobs.front();
    CHECK(job.time.host_to_device.value() == Approx(job.step_time.median));
    CHECK(job.bottleneck.resource == (to_host ? "node0/gpu0/pcie/up" : "node0/gpu0/pcie/down"));
    CHECK(job.bottleneck.utilisation == Approx(1).epsilon(1e-3));
    CHECK_THAT(job.bottleneck.why, Contains("100 % of the step waits for copies between host"));
  }
}

TEST_CASE("a printed program reads and runs as the one it was printed from", "[program]")
{
  const auto loaded = with_jobs(Json::array({pipeline()}));
  Json printed = programs_of(loaded, 0).at("jobs").at(0);
  CHECK(printed.at("operations").size() == 25);
  printed["samples_per_step"] = 4;
  Json job = pipeline();
  job["program"] = printed;
  CHECK(run(Json::array({job})).jobs.front().step_time.median ==
        Approx(run(Json::array({pipeline()})).jobs.front().step_time.median).epsilon(1e-9));
}

TEST_CASE("what prints programs prints a file that runs, of one job", "[program]")
{
  const Json all = programs_of(with_jobs(Json::array({pipeline()})), 0);
  Json job = pipeline();
  job["program"] = all;
  CHECK(run(Json::array({job})).jobs.front().step_time.median ==
        run(Json::array({pipeline()})).jobs.front().step_time.median);
  Json second = pipeline();
  second["name"] = "second";
  job["program"] = programs_of(with_jobs(Json::array({pipeline(), second})), 0);
  CHECK_THAT(refusal([&] { run(Json::array({job})); }),
             Contains("/jobs/0/program/jobs must hold the program of one job"));
}

TEST_CASE("a program of a job that reads has neither its input nor the wait for it", "[program]")
{
  Json cnn = {{"name", "cnn"},
              {"model", "resnet50"},
              {"framework", "pytorch-ddp"},
              {"precision", "fp16"},
              {"batch_per_gpu", 32},
              {"gpus", 2},
              {"input", {{"format", "jpeg"}, {"threads", 1}}}};
  const Json printed = programs_of(with_jobs(Json::array({cnn})), 0).at("jobs").at(0);
  CHECK_THAT(printed.at("summary").get<std::string>(), Contains("reading and decoding are not"));
  Json job = pipeline();
  job["program"] = printed;
  const PointResult result = run(Json::array({job}));
  CHECK_THAT(result.warnings.front(), Contains("its program fetches batches, which are taken to "
                                               "be there"));
  cnn.erase("input");
  const JobResult synthetic = run(Json::array({cnn})).jobs.front();
  CHECK(result.jobs.front().throughput.median ==
        Approx(synthetic.throughput.median).epsilon(0.01)); // its host waits for cores as well
  CHECK(result.jobs.front().efficiency == Approx(synthetic.efficiency).epsilon(0.01));
}

TEST_CASE("keys that a program does not read are told", "[program]")
{
  Json job = pipeline();
  job["batch_per_gpu"] = 4;
  job["optimizer"] = "adam";
  CHECK_THAT(run(Json::array({job})).warnings.back(),
             Contains("pipe: \"optimizer\", \"batch_per_gpu\" have no influence on a job with a "
                      "program"));
}

TEST_CASE("whether a program fits is told, or that nobody knows", "[program]")
{
  Json job = pipeline();
  const PointResult silent = run(Json::array({job}));
  REQUIRE(silent.warnings.size() == 1);
  CHECK_THAT(silent.warnings.front(), Contains("pipe: whether it fits is not known"));
  job["program"] = {{"extends", "pipeline-2x4"}, {"device_memory_byte", 12e9}};
  const PointResult told = run(Json::array({job}));
  CHECK(told.warnings.empty());
  CHECK(told.jobs.front().memory.fits());
  CHECK_THAT(told.jobs.front().memory.needed.value(), test::is(12e9));
  job["program"]["device_memory_byte"] = 40e9;
  CHECK_FALSE(run(Json::array({job})).jobs.front().memory.fits());
}

TEST_CASE("programs that cannot run are refused with their place", "[program][error]")
{
  const auto refused = [](const char* pointer, const Json& value) {
    Json job = pipeline();
    job["program"] = programs_of(with_jobs(Json::array({pipeline()})), 0).at("jobs").at(0);
    job["program"][Json::json_pointer(pointer)] = value;
    return refusal([&] { run(Json::array({job})); });
  };
  CHECK_THAT(refused("/operations/0/rank", 7), Contains("has 2 ranks"));
  CHECK_THAT(refused("/operations/0/stream", "comptue"), Contains("did you mean 'compute'"));
  CHECK_THAT(refused("/operations/0/after", Json::array({2})), Contains("in a circle"));
  CHECK_THAT(refused("/operations/0/after", Json::array({99})), Contains("there are 25"));
  CHECK_THAT(refused("/ranks/1/device", 5), Contains("is 2, but the program has work for 6"));
  CHECK_THAT(refused("/groups", {{{"ranks", {0, 1}}, {"algorithm", "rign"}}}),
             Contains("/groups/0/algorithm is not a known algorithm") &&
                 Contains("did you mean 'ring'"));
  CHECK_THAT(refused("/groups", {{{"ranks", {1, 1}}}}),
             Contains("/groups/0/ranks/1 is 1, which is there twice"));
  CHECK_THAT(refused("/operations/0/kind", "compote"), Contains("compute"));
  Json more = pipeline();
  more["gpus"] = 3;
  CHECK_THAT(refusal([&] { run(Json::array({more})); }),
             Contains("/jobs/0/gpus is 3, but the program has work for 2"));
}

TEST_CASE("an operation of a program has no key that it does not read", "[program][error]")
{
  const auto refused = [](const Json& op) {
    Json job = pipeline();
    job["program"] = {{"format", "foretrain.program/1"},
                      {"ranks", {{{"device", 0}}, {{"device", 1}}}},
                      {"groups", {{{"ranks", {0, 1}}}, {{"ranks", {1, 0}}}}},
                      {"operations", {{{"kind", "compute"}, {"rank", 0}, {"time_s", 1e-3}}, op}}};
    return refusal([&] { run(Json::array({job})); });
  };
  const auto with = [](Json op, const char* key, const Json& value) {
    op[key] = value;
    return op;
  };
  const Json sum = {
      {"kind", "collective"}, {"collective", "all-reduce"}, {"group", 0}, {"size_byte", 1e6}};
  const Json send = {{"kind", "transfer"}, {"rank", 0}, {"to", 1}, {"size_byte", 1e6}};
  const Json kernel = {{"kind", "compute"}, {"rank", 1}, {"time_s", 1e-3}};
  const Json agree = {{"kind", "agree"}, {"time_s", 1e-3}};
  for (const Json& whole : {with(with(sum, "calls", 2), "holds", 0.1), with(send, "group", 0),
                            kernel, with(agree, "period_s", 1e-3)})
    CHECK(refused(whole) == "not refused");
  CHECK_THAT(refused(with(sum, "time_s", 5)),
             Contains("/operations/1/time_s has no influence on a collective"));
  CHECK_THAT(refused(with(sum, "rank", 0)), Contains("/operations/1/rank has no influence"));
  CHECK_THAT(refused(with(send, "calls", 10)), Contains("/calls has no influence on a transfer"));
  CHECK_THAT(refused(with(send, "holds", 0.1)), Contains("/holds has no influence"));
  CHECK_THAT(refused(with(send, "collective", "broadcast")), Contains("/collective has no"));
  CHECK_THAT(refused(with(kernel, "size_byte", 8)), Contains("/size_byte has no influence"));
  CHECK_THAT(refused(with(kernel, "to", 0)), Contains("/to has no influence on a compute"));
  CHECK_THAT(refused(with(kernel, "group", 0)), Contains("/group has no influence"));
  CHECK_THAT(refused(with(kernel, "to_host", true)), Contains("/to_host has no influence"));
  CHECK_THAT(refused(with(kernel, "period_s", 1)), Contains("/period_s has no influence"));
  CHECK_THAT(refused(with(agree, "size_byte", 8)), Contains("/size_byte has no influence"));
  // Who sends to whom is said once.
  CHECK_THAT(refused(with(send, "to", 0)), Contains("/operations/1/to is 0, the sender itself"));
  CHECK_THAT(refused(with(send, "group", 1)),
             Contains("/group has the ranks 1, 0, and this goes from 0 to 1"));
}

} // namespace foretrain::program_job_test
