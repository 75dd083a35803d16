// One question, one answer: a job that shares nothing, under another name, in another order, beside
// a neighbour on another node.
#include "experiments/answers/programs.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/spec/levers.hpp"
#include "tests/experiments/random_jobs.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::same_answer_test {

using namespace foretrain::experiments;

namespace {

const std::vector<std::string> kNames{"nvlink", "pcie", "cores", "memory", "leaf"};

struct Scene {
  Json cluster, stack, job;
  int nodes; // that the job uses
};

Scene scene(test::Draw& draw)
{
  Scene s;
  s.nodes = draw.whole(1, 2);
  s.cluster = {{"platform", draw.of<std::string>(
                                {"c4140-m-v100-sxm2", "c4140-k-v100-sxm2", "c4140-c-v100-pcie"})},
               {"nodes", s.nodes + 1}};
  s.stack = {{"network", draw.of<std::string>({"rdma", "ipoib", "tcp"})},
             {"host", draw.of<std::string>({"bare-metal", "container"})}};
  const int gpus = s.nodes == 1 ? draw.whole(1, 4) : 8;
  s.job = draw.whole(0, 1) == 0 ? test::network_job(draw) : test::transformer_job(draw, gpus);
  s.job["gpus"] = gpus;
  Json places = Json::array();
  for (int gpu = 0; gpu < gpus; ++gpu)
    places.push_back({gpu / 4, gpu % 4});
  s.job["placement"] = places;
  return s;
}

PointResult predicted(const Scene& scene, const std::vector<Json>& jobs, UncertaintyMethod method)
{
  const Json json = {{"cluster", scene.cluster}, {"stack", scene.stack}, {"jobs", jobs}};
  RunOptions options;
  options.uncertainty.method = method;
  return run_point({{}, parse_document(json.dump(), "test"), nullptr}, options);
}

// Threads of servers and workers have the job's name.
std::string anonymous(const JobResult& job)
{
  std::string text = job.bottleneck.resource;
  for (const char* of : {"server", "worker"})
    if (const auto at = text.find("/" + job.name + "/" + of); at != std::string::npos)
      text.erase(at, job.name.size() + 1);
  return text;
}

void check_same(const JobResult& a, const JobResult& b)
{
  CHECK_THAT(a.throughput.median, test::is(b.throughput.median));
  // Differences of runs with parameters a little off: what rates differ in their fourteenth digit
  // is more here.
  CHECK(a.throughput.low == Approx(b.throughput.low).epsilon(3e-8));
  CHECK(a.throughput.high == Approx(b.throughput.high).epsilon(3e-8));
  CHECK_THAT(a.efficiency, test::is(b.efficiency));
  for (const auto part : models::kStepParts)
    CHECK((a.time.*part).value() == Approx((b.time.*part).value()).epsilon(1e-9).margin(1e-12));
  CHECK(anonymous(a) == anonymous(b));
  CHECK(a.bottleneck.lever == b.bottleneck.lever);
  CHECK(*a.bottleneck.gain_if_doubled ==
        Approx(*b.bottleneck.gain_if_doubled).epsilon(1e-9).margin(1e-9));
}

void check_parts(const JobResult& job)
{
  const double mean = job.time.total().value();
  for (const auto part : models::kStepParts)
    CHECK((job.time.*part).value() > -1e-12);
  CHECK(mean > 0.9 * job.step_time.low);
  CHECK(mean < 1.1 * job.step_time.high);
}

void check_scenes(unsigned seed, int scenes, UncertaintyMethod method)
{
  test::Draw draw(seed);
  for (int i = 0; i < scenes; ++i) {
    const Scene s = scene(draw);
    CAPTURE(seed, i, s.cluster.dump(), s.stack.dump(), s.job.dump());
    Json job = s.job;
    job["name"] = "train";
    Json neighbour = {{"name", "beside"},
                      {"model", "resnet50"},
                      {"framework", "pytorch-ddp"},
                      {"batch_per_gpu", draw.whole(16, 64)},
                      {"placement", {{s.nodes, 0}}},
                      {"gpus", 1},
                      {"steps", 4}};
    const JobResult alone = predicted(s, {job}, method).jobs.at(0);
    check_parts(alone);
    Json renamed = job;
    renamed["name"] = draw.of(kNames);
    check_same(predicted(s, {renamed}, method).jobs.at(0), alone);
    const PointResult beside = predicted(s, {job, neighbour}, method);
    check_same(beside.jobs.at(0), alone);
    check_same(predicted(s, {neighbour, renamed}, method).jobs.at(1), alone);
    check_parts(beside.jobs.at(1));
  }
}

} // namespace

TEST_CASE("what shares nothing with a job changes nothing", "[same][property][many]")
{
  check_scenes(1, 100, UncertaintyMethod::steps);
}

TEST_CASE("what shares nothing with a job leaves its interval", "[same][property][many]")
{
  check_scenes(2, 4, UncertaintyMethod::linear);
}

TEST_CASE("what shares nothing with some jobs changes nothing", "[same][property][long]")
{
  check_scenes(4, 2, UncertaintyMethod::steps);
}

TEST_CASE("a neighbour on a job's node that uses none of its links changes nothing",
          "[same][property][many]")
{
  // Its two GPUs exchange by an NVLink of their own.
  test::Draw draw(6);
  for (int i = 0; i < 40; ++i) {
    Scene s = scene(draw);
    s.cluster = {{"platform", draw.of<std::string>({"c4140-m-v100-sxm2", "hgx-h100"})},
                 {"nodes", 2}};
    s.stack["network"] = "rdma";
    s.job = test::transformer_job(draw, 4);
    s.job["name"] = "train";
    s.job["gpus"] = 4;
    s.job["placement"] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
    const Json neighbour = {{"name", "beside"},
                            {"model", "resnet50"},
                            {"framework", "pytorch-ddp"},
                            {"batch_per_gpu", draw.whole(16, 64)},
                            {"placement", {{1, 2}, {1, 3}}},
                            {"gpus", 2},
                            {"steps", 4}};
    CAPTURE(i, s.cluster.dump(), s.stack.dump(), s.job.dump());
    const JobResult alone = predicted(s, {s.job}, UncertaintyMethod::steps).jobs.at(0);
    check_same(predicted(s, {s.job, neighbour}, UncertaintyMethod::steps).jobs.at(0), alone);
  }
}

TEST_CASE("jobs that share nodes have the same answer in any order", "[same][property]")
{
  const auto job = [](const char* name, const char* model, int first) {
    Json places = Json::array();
    for (int rank = 0; rank < 4; ++rank)
      places.push_back({rank / 2, first + rank % 2});
    return Json{{"name", name},        {"model", model}, {"framework", "pytorch-ddp"},
                {"batch_per_gpu", 32}, {"gpus", 4},      {"placement", places}};
  };
  const std::vector<Json> jobs{job("a", "vgg16", 0), job("b", "resnet50", 2)};
  Scene scene;
  scene.cluster = {{"platform", "c4140-k-v100-sxm2"}, {"nodes", 2}};
  scene.stack = {{"network", "tcp"}};
  const auto ab = predicted(scene, jobs, UncertaintyMethod::steps);
  const auto ba = predicted(scene, {jobs[1], jobs[0]}, UncertaintyMethod::steps);
  CHECK(*ab.jobs[0].slowdown > 1.001);
  for (const std::size_t i : {0U, 1U}) {
    CHECK_THAT(ab.jobs[i].throughput.median, test::is(ba.jobs[1 - i].throughput.median));
    CHECK_THAT(*ab.jobs[i].slowdown, test::is(*ba.jobs[1 - i].slowdown));
  }
}

TEST_CASE("the limit does not depend on how intervals are found", "[same][long]")
{
  test::Draw draw(3);
  for (int i = 0; i < 4; ++i) {
    const Scene s = scene(draw);
    CAPTURE(s.cluster.dump(), s.stack.dump(), s.job.dump());
    const Bottleneck steps = predicted(s, {s.job}, UncertaintyMethod::steps).jobs.at(0).bottleneck;
    const Bottleneck linear =
        predicted(s, {s.job}, UncertaintyMethod::linear).jobs.at(0).bottleneck;
    CHECK(steps.resource == linear.resource);
    CHECK(steps.lever == linear.lever);
    CHECK(steps.why == linear.why);
  }
}

TEST_CASE("a data-parallel job and its own printed program have the same answer",
          "[same][property][long]")
{
  test::Draw draw(4);
  for (int i = 0; i < 40; ++i) {
    Scene s = scene(draw);
    s.job = test::network_job(draw);
    s.job["name"] = "train";
    s.job["framework"] = draw.of<std::string>(
        {"pytorch-ddp", "pytorch-horovod", "mxnet-horovod", "pytorch-apex-ddp"});
    s.job["gpus"] = 4 * s.nodes;
    CAPTURE(s.cluster.dump(), s.stack.dump(), s.job.dump());
    const Json json = {{"cluster", s.cluster}, {"stack", s.stack}, {"jobs", {s.job}}};
    LoadedExperiment loaded;
    loaded.points.push_back({{}, parse_document(json.dump(), "test"), nullptr});
    Json program = s.job;
    program.erase("model");
    program["program"] = programs_of(loaded, 0).at("jobs").at(0);
    const JobResult job = predicted(s, {s.job}, UncertaintyMethod::steps).jobs.at(0);
    const JobResult same = predicted(s, {program}, UncertaintyMethod::steps).jobs.at(0);
    CHECK_THAT(same.throughput.median, test::is(job.throughput.median));
    CHECK_THAT(same.throughput.low, test::is(job.throughput.low));
    CHECK_THAT(same.throughput.high, test::is(job.throughput.high));
    CHECK_THAT(same.efficiency, test::is(job.efficiency));
    for (const auto part : models::kStepParts)
      CHECK((same.time.*part).value() ==
            Approx((job.time.*part).value()).epsilon(1e-9).margin(1e-12));
    CHECK(same.bottleneck.resource == job.bottleneck.resource);
    CHECK(same.bottleneck.why == job.bottleneck.why);
    CHECK_THAT(same.memory.needed.value(), test::is(job.memory.needed.value()));
    CHECK(job.memory.needed.value() > 0);
  }
}

} // namespace foretrain::same_answer_test
