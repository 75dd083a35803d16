// Records of the CPU twin as experiments, and ranks that compute on cores of the host.
#include "experiments/learn/realrun_experiment.hpp"

#include "experiments/learn/calibrate.hpp"
#include "experiments/learn/unsteady.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/spec/resolve.hpp"
#include "models/networks/network.hpp"
#include "sim/base/error.hpp"
#include "sim/base/quantity_text.hpp"
#include "sim/cost/roofline.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::realrun_experiment_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

Json record_json(const std::string& name)
{
  return load_document(data_root() / "realrun/records/vm-2core" / (name + ".json"))->root;
}

calibration::TrainingRecord record_of(const Json& json)
{
  auto document = std::make_shared<Document>();
  document->name = "record.json";
  document->root = json;
  return calibration::read_training_record(Value(document));
}

calibration::TrainingRecord record(const std::string& name)
{
  return record_of(record_json(name));
}

// Median step of the first job, without variation from step to step.
double step_of(const calibration::TrainingRecord& r)
{
  auto document = std::make_shared<Document>();
  document->name = r.name;
  document->root = realrun_experiment(r, "vm-2core");
  for (Json& job : document->root["jobs"])
    job["framework"]["step_variation"] = 0;
  Point point;
  point.document = document;
  return run_point(point, RunOptions{}).jobs.front().step_time.median;
}

std::string error_of(const std::string& patch)
{
  Json json = record_json("mlp-r2");
  json.merge_patch(Json::parse(patch));
  try {
    realrun_experiment(record_of(json), "vm-2core");
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

} // namespace

TEST_CASE("ranks on cores find less in the cache after they added up gradients", "[realrun]")
{
  auto document = std::make_shared<Document>();
  document->root = realrun_experiment(record("mlp-r4"), "vm-2core-epyc");
  Point point;
  point.document = document;
  CHECK(resolve(point).jobs.front().device.ranks == 4);
}

TEST_CASE("the network of a record has the record's parameters", "[realrun]")
{
  for (const char* name :
       {"mlp-d6", "mlp-w128", "convnet-w8", "convnet-d3", "transformer-w128", "transformer-d4"}) {
    const auto r = record(name);
    auto document = std::make_shared<Document>();
    document->root = realrun_network([&] {
      auto model = std::make_shared<Document>();
      model->root = r.model;
      return Value(DocumentPtr(model));
    }());
    const auto network = models::load_network(Value(DocumentPtr(document)));
    CAPTURE(name);
    CHECK(static_cast<double>(models::totals(network).parameters) == r.parameters);
  }
}

TEST_CASE("runs that share a core take turns, runs with a core each do not", "[closed-form][long]")
{
  const double alone = step_of(record("shared-mlp-same-core-2-alone"));
  CHECK_THAT(step_of(record("shared-mlp-same-core-2-tenant0")), test::is(2 * alone));
  CHECK_THAT(step_of(record("shared-mlp-pinned-2-tenant1")), test::is(alone));
  CHECK_THAT(step_of(record("shared-mlp-unpinned-3-tenant0")), test::is(1.5 * alone));
}

TEST_CASE("four ranks on two cores take twice the computing of two, and more to reduce",
          "[realrun]")
{
  const double two = step_of(record("convnet-r2-nooverlap"));
  const double four = step_of(record("convnet-r4-nooverlap"));
  CHECK(four > 2 * two);
  CHECK(four < 2.5 * two);
}

TEST_CASE("a shaped wire is what limits a step that it alone makes long", "[realrun]")
{
  const auto r = record("twin-host-r200-mlp");
  const double wire = r.parameters * 4 * 1514 / 1448 / r.link_rate.value();
  CHECK(step_of(r) > 0.98 * wire);
  CHECK(step_of(r) < 1.05 * wire);
}

TEST_CASE("a record that cannot be an experiment is refused", "[realrun]")
{
  CHECK_THAT(error_of(R"({"made_by": {"program": "realrun-cuda"}})"), Contains("realrun-cuda"));
  CHECK_THAT(error_of(R"({"kind": "gemm"})"), Contains("must be 'training'"));
  CHECK_THAT(error_of(R"({"settings": {"world": 0}})"), Contains("must be a number of at least 1"));
  CHECK_THAT(error_of(R"({"settings": {"batch": 1.5}})"), Contains("whole number"));
  CHECK_THAT(error_of(R"({"settings": {"isolation": "disk:20"}})"), Contains("disk:20"));
  CHECK_THAT(error_of(R"({"settings": {"input": "jpeg"}})"), Contains("jpeg"));
  CHECK_THAT(error_of(R"({"series": []})"), Contains("holds no series 'throughput'"));
  CHECK_THAT(error_of(R"({"model": {"kind": "rnn"}})"), Contains("rnn"));
}

TEST_CASE("records of runs teach what computing costs on cores", "[realrun][calibrate]")
{
  std::vector<std::string> paths;
  for (const char* name : {"mlp-b32", "mlp-w128", "convnet-w8", "convnet-b32", "transformer-b4",
                           "net-vxlan-mtu1500-r0-tso"})
    paths.push_back((data_root() / "realrun/records/vm-2core" / name).string() + ".json");
  const Calibration calibration = calibrate(paths, {.platform = "vm-2core"});
  const auto value = [&](const std::string& pointer) {
    for (const auto& p : calibration.profile.parameters)
      if (p.pointer == pointer)
        return p.value.json();
    return Json();
  };
  CHECK(value("/function_time").is_string());
  CHECK(value("/kernels/patch_run").is_string());
  CHECK(value("/copy_rate").is_string());
  for (const auto& p : calibration.profile.parameters)
    if (p.residuals)
      CHECK(p.residuals->mean < 0.08);
}

TEST_CASE("a record tells what a step is made of", "[realrun]")
{
  const auto parts = record("mlp-b32").parts;
  double sum = 0;
  for (const auto& [name, seconds] : parts)
    sum += seconds;
  const auto r = record("mlp-b32");
  CHECK(parts.size() == 5);
  CHECK(parts.at("optimizer") > parts.at("relu forward"));
  CHECK(sum > 0.9 * 32 / r.throughput.front());
  CHECK(sum < 1.02 * 32 / r.throughput.front());
}

TEST_CASE("runs that did the same arithmetic at other speeds contradict each other", "[realrun]")
{
  const auto two_blocks = record("transformer-b4");
  auto four_blocks = record("transformer-d4"); // four times the batch
  CHECK(unsteady({two_blocks, four_blocks, record("mlp-b8")}).empty());
  const double alike = four_blocks.functions_s / (8 * two_blocks.functions_s);
  CHECK(std::abs(alike - 1) < 0.03);
  four_blocks.functions_s *= 1.2 / alike;
  const auto notes = unsteady({two_blocks, four_blocks});
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Contains("20 % longer in transformer-d4 than in transformer-b4"));
  CHECK(unsteady({record("mlp-b8")}).empty()); // nothing to tell it by
}

TEST_CASE("records of another machine than the platform's teach its cache as well",
          "[realrun][calibrate][long]")
{
  // A core whose cache holds a batch and its weights, but not those of a wide model.
  std::vector<std::string> paths;
  for (const char* name : {"convnet-b32", "convnet-d1", "convnet-w8", "mlp-b32", "mlp-d1",
                           "mlp-w1024", "mlp-w64", "transformer-b4", "transformer-d4"})
    paths.push_back((data_root() / "realrun/records/vm-2core-epyc" / name).string() + ".json");
  const Calibration calibration = calibrate(paths, {.platform = "vm-2core"});
  bool cache = false;
  for (const auto& p : calibration.profile.parameters)
    if (p.pointer == "/cache") {
      cache = true;
      CHECK(parse_measure(p.value.json().get<std::string>())->si() > 8 * 1048576);
      CHECK(parse_measure(p.value.json().get<std::string>())->si() < 32 * 1048576);
      CHECK(p.residuals->measurements == 9);
      CHECK(p.residuals->mean < 0.04);
    }
  CHECK(cache);
}

TEST_CASE("records of a machine that is quicker than the platform's teach its own rates",
          "[realrun][calibrate][long]")
{
  std::vector<std::string> paths;
  for (const char* name : {"convnet-b32", "convnet-d1", "convnet-w8", "mlp-b32", "mlp-d1",
                           "mlp-w1024", "mlp-w64", "transformer-b4", "transformer-d4"})
    paths.push_back((data_root() / "realrun/records/vm-2core" / name).string() + ".json");
  // Its peak is 96 GFLOP/s; these runs reach 120 and more.
  const Calibration calibration = calibrate(paths, {.platform = "vm-2core-epyc"});
  bool peak = false;
  for (const auto& p : calibration.profile.parameters) {
    CHECK(p.pointer != "/fp32/dense_efficiency");
    if (p.pointer == "/fp32/peak") {
      peak = true;
      CHECK(parse_measure(p.value.json().get<std::string>())->si() > 120e9);
      CHECK(p.residuals->mean < 0.05); // 8.6 % at the platform's peak
    }
  }
  CHECK(peak);
}

TEST_CASE("what fits into the cache of a core moves at its rate", "[closed-form]")
{
  sim::Roofline core{FlopsPerSecond(1e9), 1.0,        BytesPerSecond(10), Seconds(0), false,
                     Seconds(0),          Bytes(100), BytesPerSecond(50)};
  CHECK_THAT(core.moving(Bytes(200), Bytes(100)).value(), test::is(4));
  CHECK_THAT(core.moving(Bytes(200), Bytes(400)).value(), test::is(0.25 * 4 + 0.75 * 20));
  core.in_turn = true;
  CHECK_THAT(core(Flops(2e9), Seconds(3)).value(), test::is(5));
  core.in_turn = false;
  CHECK_THAT(core(Flops(2e9), Seconds(3)).value(), test::is(3));
}

} // namespace foretrain::realrun_experiment_test
