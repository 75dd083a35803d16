#include "experiments/run/simulate/trace_prediction.hpp"

#include "experiments/run/simulate/nccl_tests.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

const NcclTest* test_of(const std::string& kind)
{
  static const std::map<std::string, std::string> programs = {
      {"all-reduce", "all_reduce_perf"},
      {"all-gather", "all_gather_perf"},
      {"reduce-scatter", "reduce_scatter_perf"},
      {"broadcast", "broadcast_perf"},
      {"all-to-all", "alltoall_perf"}};
  const auto program = programs.find(kind);
  return program == programs.end() ? nullptr : find_nccl_test(program->second);
}

int gpus_per_node(const models::TraceSummary& trace, const platforms::PlatformSpec& platform,
                  const TracePlacement& placement)
{
  int world = trace.world;
  for (const auto& one : trace.collectives)
    world = std::max(world, one.group);
  int gpus = placement.gpus_per_node;
  if (gpus == 0 && placement.nodes > 0)
    gpus = (world + placement.nodes - 1) / placement.nodes;
  if (gpus > platform.gpus_per_node())
    throw UsageError(fmt::format("{} GPUs on a node: '{}' has {} GPUs per node", gpus,
                                 platform.name, platform.gpus_per_node()));
  return gpus > 0 ? gpus : platform.gpus_per_node();
}

} // namespace

TracePrediction predict_collectives(const models::TraceSummary& trace,
                                    const platforms::PlatformSpec& platform,
                                    const platforms::Stack& stack, const Value& library,
                                    const TracePlacement& placement)
{
  TracePrediction result;
  result.platform = platform.name;
  const int per_node = gpus_per_node(trace, platform, placement);
  int left_out = 0;
  for (const auto& one : trace.collectives) {
    PredictedCollective predicted;
    const NcclTest* test = test_of(one.kind);
    const int here = std::min(one.group, per_node);
    if (test == nullptr || one.bytes <= 0 || one.group < 2 || one.group % here != 0) {
      ++left_out;
    } else {
      NcclTestsOptions options;
      options.gpus_per_node = here;
      options.nodes = predicted.nodes = one.group / here;
      options.element_size = 1;
      options.sizes = {one.bytes};
      options.library = library;
      const NcclTestsRow row = run_nccl_test(*test, platform, stack, options).front();
      predicted.seconds = row.time;
      predicted.bus_rate = row.bus_bandwidth;
    }
    result.collectives.push_back(predicted);
  }
  if (left_out > 0)
    result.notes.push_back(fmt::format(
        "{} kinds of collectives are not predicted: their size or group is not told, they are "
        "sends, or their ranks do not fill nodes of {} GPUs evenly",
        left_out, per_node));
  return result;
}

} // namespace foretrain::experiments
