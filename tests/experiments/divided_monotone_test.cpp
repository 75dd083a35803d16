// Random plans of transformers: more of a resource never makes a step longer.
#include "experiments/run/scenario.hpp"
#include "tests/experiments/draw.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::divided_monotone_test {

using namespace foretrain::test;

namespace {

// A number of the DGX A100's parts, as their files have it.
struct Dial {
  const char* kind;
  const char* preset;
  const char* pointer;
  double value;
  const char* unit;
  bool quick = true; // whether more of it is quicker
};
constexpr Dial kDials[] = {{"gpu", "a100-sxm4-80gb", "/memory_bandwidth", 2039, "GB/s"},
                           {"gpu", "a100-sxm4-80gb", "/bf16/peak", 312, "TFLOP/s"},
                           {"gpu", "a100-sxm4-80gb", "/nvlink_brick", 25, "GB/s"},
                           {"nic", "connectx6-hdr", "/rate", 200, "Gb/s"},
                           {"nic", "connectx6-hdr", "/latency", 1, "us", false}};

// A model and a plan on up to 16 nodes of eight GPUs; memory is not asked for here.
Json draw(unsigned seed)
{
  Draw random(seed);
  const int tensor = random.of<int>({1, 2, 4, 8});
  const int pipeline = random.of<int>({1, 1, 2, 4});
  const int data = std::max(8 / (tensor * pipeline), random.of<int>({1, 2, 4}));
  const auto model = random.of<std::string>({"gpt3-1.7b", "llama-3.2-1b", "llama-3-8b"});
  const int micro_batches = pipeline * random.of<int>({1, 2, 3});
  Json job = {{"model", model},
              {"framework", {{"extends", "megatron"}, {"step_variation", 0}}},
              {"precision", "bf16"},
              {"gpus", tensor * pipeline * data},
              {"micro_batch", random.of<int>({1, 2})},
              {"recompute", random.of<std::string>({"none", "selective", "full"})},
              {"parallel",
               {{"tensor", tensor},
                {"pipeline", pipeline},
                {"zero", pipeline > 1 ? random.of<int>({0, 1}) : random.of<int>({0, 1, 2, 3})},
                {"sequence_parallel", tensor > 1 && random.of<int>({0, 1}) == 1}}}};
  job["global_batch"] = job["micro_batch"].get<int>() * data * micro_batches;
  return {
      {"cluster", {{"platform", {{"extends", "dgx-a100-80gb"}, {"name", "drawn"}}}, {"nodes", 16}}},
      {"jobs", {job}}};
}

double rate(const Json& experiment, const Dial& dial, double factor)
{
  auto document = parse_document(experiment.dump(), "test");
  auto overlay = std::make_shared<Overlay>();
  overlay->entries.push_back({"gpu", "*", "/memory", "8 TB", "test"});
  overlay->entries.push_back({"gpu", "*", "/speed_variation", 0, "test"});
  overlay->entries.push_back({dial.kind, dial.preset, dial.pointer,
                              fmt::format("{:.9g} {}", dial.value * factor, dial.unit), "test"});
  document->overlay = std::move(overlay);
  experiments::Point point;
  point.document = document;
  experiments::RunOptions options;
  options.uncertainty.method = experiments::UncertaintyMethod::steps;
  return run_point(point, options).jobs.front().throughput.median;
}

#ifdef __SANITIZE_ADDRESS__
constexpr unsigned kDraws = 20;
#else
constexpr unsigned kDraws = 60;
#endif

void check_draws(unsigned draws)
{
  unsigned helped = 0;
  for (unsigned seed = 1; seed <= draws; ++seed) {
    const Json experiment = draw(seed);
    for (const Dial& dial : kDials) {
      const double before = rate(experiment, dial, 1);
      const double after = rate(experiment, dial, dial.quick ? 2 : 0.5);
      INFO(
          fmt::format("seed {}, {} of {}: {}", seed, dial.pointer, dial.preset, experiment.dump()));
      CHECK(before / after - 1 < 1e-9);
      helped += after / before - 1 > 1e-3 ? 1 : 0;
    }
  }
  CHECK(helped > draws);
}

} // namespace

TEST_CASE("More of a resource never makes a divided transformer slower", "[property][many]")
{
  check_draws(kDraws);
}

TEST_CASE("More of a resource makes some divided transformers no slower", "[property][long]")
{
  check_draws(3);
}

} // namespace foretrain::divided_monotone_test
