// Records of the CPU twin as experiments, and ranks that compute on cores of the host.
#include "experiments/realrun_experiment.hpp"

#include "experiments/scenario.hpp"
#include "models/network.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

using namespace foretrain;
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

TEST_CASE("runs that share a core take turns, runs with a core each do not", "[closed-form]")
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
  CHECK_THAT(error_of(R"({"series": []})"), Contains("holds no series 'throughput'"));
  CHECK_THAT(error_of(R"({"model": {"kind": "rnn"}})"), Contains("rnn"));
}
