// Recorded collectives beside what a platform would take for them.
#include "experiments/run/simulate/trace_prediction.hpp"

#include "experiments/report/report_trace.hpp"
#include "experiments/run/simulate/nccl_tests.hpp"
#include "models/collectives/library.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::trace_prediction_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

const platforms::PlatformSpec& machine()
{
  static const auto platform =
      platforms::load_platform(resolve_preset("dgx1-v100", platforms::kPlatformKind));
  return platform;
}

platforms::Stack bare_metal()
{
  return platforms::make_stack(
      platforms::load_host(resolve_preset("bare-metal", platforms::kHostKind)),
      platforms::load_transport(resolve_preset("rdma", platforms::kTransportKind)));
}

Value library()
{
  return resolve_preset("nccl", models::kLibraryKind);
}

models::TraceSummary recording()
{
  models::TraceSummary trace;
  trace.file = "trace.json";
  trace.world = 16;
  trace.collectives = {{"all-reduce", 64e6, 16, 3, 2e-3, 2e-3, 60e9},
                       {"all-to-all", 8e6, 8, 3, 1e-3, 1e-3, 7e9},
                       {"all-gather", 0, 16, 3, 1e-3, 1e-3, 0},
                       {"send", 1e6, 2, 3, 1e-3, 1e-3, 0},
                       {"all-reduce", 64e6, 12, 3, 2e-3, 2e-3, 60e9}};
  return trace;
}

TracePrediction predicted(const TracePlacement& placement)
{
  return predict_collectives(recording(), machine(), bare_metal(), library(), placement);
}

double alone(const char* program, double bytes, int gpus, int nodes)
{
  NcclTestsOptions options;
  options.sizes = {bytes};
  options.gpus_per_node = gpus;
  options.nodes = nodes;
  options.element_size = 1;
  options.library = library();
  return run_nccl_test(*find_nccl_test(program), machine(), bare_metal(), options).front().time;
}

} // namespace

TEST_CASE("recorded collectives are predicted as nccl-tests would time them", "[traces]")
{
  const auto there = predicted({});
  REQUIRE(there.collectives.size() == 5);
  CHECK(there.collectives[0].nodes == 2);
  CHECK_THAT(there.collectives[0].seconds, test::is(alone("all_reduce_perf", 64e6, 8, 2)));
  CHECK(there.collectives[1].nodes == 1);
  CHECK_THAT(there.collectives[1].seconds, test::is(alone("alltoall_perf", 8e6, 8, 1)));
  CHECK_THAT(there.collectives[0].bus_rate,
             test::is(64e6 / there.collectives[0].seconds * 2 * 15 / 16));
}

TEST_CASE("what cannot be predicted of a recording's collectives is told", "[traces]")
{
  const auto there = predicted({});
  for (const int i : {2, 3, 4}) // no size, a send, one node and a half
    CHECK(there.collectives[static_cast<std::size_t>(i)].seconds == 0);
  REQUIRE(there.notes.size() == 1);
  CHECK_THAT(there.notes.front(), Contains("3 kinds") && Contains("8 GPUs"));
}

TEST_CASE("ranks of a recording are where the command says", "[traces]")
{
  CHECK(predicted({.gpus_per_node = 4}).collectives[0].nodes == 4);
  CHECK(predicted({.nodes = 4}).collectives[0].nodes == 4);
  CHECK(predicted({.nodes = 4}).collectives[1].nodes == 2);
  CHECK(predicted({.gpus_per_node = 4}).collectives[4].nodes == 3);
  CHECK_THROWS_AS(predicted({.nodes = 1}), UsageError);
}

TEST_CASE("text, JSON and HTML show the platform beside the recording", "[traces]")
{
  const auto there = predicted({});
  const auto text = trace_text(recording(), &there);
  CHECK_THAT(text, Contains("predicted ms") && Contains("ratio") && Contains("3 kinds"));
  CHECK_THAT(trace_text(recording()), !Contains("predicted ms"));
  const Json json = trace_json(recording(), &there);
  CHECK(json.at("collectives").at(0).at("predicted").at("nodes") == 2);
  CHECK(!json.at("collectives").at(2).contains("predicted"));
  CHECK_THAT(trace_html(recording(), &there), Contains("<th>ratio</th>"));
}

} // namespace foretrain::trace_prediction_test
