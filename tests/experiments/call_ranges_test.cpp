#include "experiments/run/uncertainty/call_ranges.hpp"

#include "experiments/spec/gpu_library.hpp"
#include "sim/base/catalog.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::call_ranges_test {

using namespace foretrain::experiments;

namespace {

CallMachineWith machine_of(const std::string& name, const std::string& network)
{
  return [name, network](const OverlayPtr& overlay) {
    const auto platform =
        platforms::load_platform(resolve_preset(name, platforms::kPlatformKind, overlay));
    const auto host = resolve_preset(std::string("bare-metal"), platforms::kHostKind, overlay);
    const auto transport = resolve_preset(network, platforms::kTransportKind, overlay);
    return CallMachine{
        platform,
        platforms::make_stack(platforms::load_host(host), platforms::load_transport(transport)),
        library_for("nccl-2.18", platform.gpu, overlay)};
  };
}

struct Answer {
  std::vector<NcclTestsRow> rows;
  std::vector<CallRange> ranges;
};

Answer asked(const CallMachineWith& machine, int nodes, const std::vector<double>& sizes,
             const std::shared_ptr<Profiles>& profiles = std::make_shared<Profiles>(),
             double interval = 0.9)
{
  const NcclTest& test = *find_nccl_test("all_reduce_perf");
  const CallMachine own = machine(profiles->overlay);
  NcclTestsOptions options;
  options.nodes = nodes;
  options.gpus_per_node = 4;
  options.sizes = sizes;
  options.library = own.library;
  Answer answer{run_nccl_test(test, own.platform, own.stack, options), {}};
  answer.ranges = call_ranges(test, machine, options, answer.rows, profiles, interval);
  return answer;
}

double effect_of(const CallRange& range, const std::string& name)
{
  for (const Uncertainty::Part& part : range.parts)
    if (part.parameter.find(name) != std::string::npos)
      return part.effect;
  return 0;
}

} // namespace

TEST_CASE("a call's range is that of independent causes, around its time", "[uncertainty]")
{
  const Answer answer = asked(machine_of("c4140-m-v100-sxm2", "rdma"), 2, {8e3, 64e6, 1e9});
  REQUIRE(answer.ranges.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const CallRange& it = answer.ranges[i];
    double squares = 0;
    for (const Uncertainty::Part& part : it.parts)
      squares += part.effect * part.effect;
    CHECK_THAT(it.time.median, test::is(answer.rows[i].time));
    CHECK_THAT(std::log(it.time.high / it.time.median),
               test::is(half_width(0.9) * std::sqrt(squares)));
    CHECK(it.time.median / it.time.low <= it.time.high / it.time.median);
  }
  // Small calls are steps, large ones bytes; all of them are calls between nodes.
  CHECK(effect_of(answer.ranges[0], "latencies of the collective library") < -0.1);
  CHECK(std::abs(effect_of(answer.ranges[2], "latencies of the collective library")) < 0.01);
  for (const CallRange& it : answer.ranges) {
    CHECK(effect_of(it, "calls between nodes") < -0.15);
    CHECK(effect_of(it, "calls inside a node") == 0);
  }
}

TEST_CASE("a library may be faster than told, the adapter that its calls fill may not",
          "[uncertainty]")
{
  // Two nodes send each other at least as many bytes as they add up, over one EDR adapter each.
  const CallRange large = asked(machine_of("c4140-k-v100-sxm2", "rdma"), 2, {1e9}).ranges.front();
  const double wire = 1e9 / 12.5e9;
  CHECK(large.time.low > 0.95 * wire);
  CHECK(large.time.high > 1.3 * large.time.median);
}

TEST_CASE("inside a node other causes count than between nodes", "[uncertainty][long]")
{
  const CallRange large = asked(machine_of("hgx-h100", "rdma"), 1, {1e9}).ranges.front();
  CHECK(effect_of(large, "calls inside a node over NVLink") < -0.1);
  CHECK(effect_of(large, "calls between nodes") == 0);
  CHECK(effect_of(large, "rate of the adapters") == 0);
  const CallRange tcp = asked(machine_of("hgx-h100-400gbe", "tcp"), 2, {1e9}).ranges.front();
  CHECK(tcp.time.high / tcp.time.low > large.time.high / large.time.low);
}

TEST_CASE("a wider interval holds a narrower one, and what is not exchanged has none",
          "[uncertainty]")
{
  const auto machine = machine_of("c4140-m-v100-sxm2", "rdma");
  const auto at = [&](double interval) {
    return asked(machine, 1, {1, 1e6}, std::make_shared<Profiles>(), interval).ranges;
  };
  const auto half = at(0.5), most = at(0.95);
  CHECK(half[1].time.interval == 0.5);
  CHECK(most[1].time.low < half[1].time.low);
  CHECK(most[1].time.high > half[1].time.high);
  CHECK(half[0].time.low == half[0].time.high); // one byte is no element
  CHECK(half[0].parts.empty());
}

TEST_CASE("what a profile has measured is as sure as the profile says", "[uncertainty]")
{
  const auto profiles = std::make_shared<Profiles>();
  profiles->add(Value(DocumentPtr(parse_document(
      R"({"format": "foretrain.profile/1", "name": "sure", "parameters": [
           {"preset": "nccl-2.18", "kind": "library", "pointer": "/call_time", "value": 1,
            "spread": 0.01}]})",
      "sure.json"))));
  const auto machine = machine_of("hgx-h100", "rdma");
  const CallRange sure = asked(machine, 1, {1e9}, profiles).ranges.front();
  CHECK(std::abs(effect_of(sure, "/call_time")) < 0.02);
  CHECK(effect_of(sure, "calls inside a node over NVLink") == 0);
  const CallRange unsure = asked(machine, 1, {1e9}).ranges.front();
  CHECK(sure.time.high < unsure.time.high);
}

} // namespace foretrain::call_ranges_test
