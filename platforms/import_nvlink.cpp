#include "platforms/import_nvlink.hpp"

#include "platforms/platform.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::platforms {

namespace {

constexpr int kSwitchedBricks = 12; // from A100 on, boards of eight join them by NVSwitch

constexpr double kHopper = 9; // compute capability of the GPUs that came with switches that add

// Switches beside Hopper and later GPUs add while they forward (NVLink SHARP, NVSwitch 3: NVIDIA
// H100 white paper); those beside A100 and V100 do not.
bool switch_adds(const Gpu& gpu)
{
  return gpu.vendor == sim::GpuVendor::nvidia && gpu.compute_capability >= kHopper;
}

Json switched(const Gpu& gpu)
{
  Json part = {{"nvswitch", true}};
  if (switch_adds(gpu))
    part["in_network_reduction"] = true;
  return part;
}

const char* const kHint = "give --nvlink: switch, pairs, none or a platform with the same board; "
                          "NCCL_TOPO_DUMP_FILE of a job on all GPUs tells them";

Json links_of_platform(const FoundNode& found, const std::string& name)
{
  const auto resolved = [&] {
    try {
      return resolve_preset(name, kPlatformKind);
    } catch (const UsageError&) {
      if (const std::string word = nearest(name, {"switch", "pairs", "none"}); !word.empty())
        throw UsageError(
            fmt::format("--nvlink {}: is no switch, pairs or none, nor a platform; did "
                        "you mean {}?",
                        name, word));
      throw;
    }
  };
  const PlatformSpec spec = load_platform(resolved());
  if (spec.gpus_per_node() != static_cast<int>(found.gpus.size()))
    throw UsageError(fmt::format("--nvlink {}: has {} GPUs in a node, the file {}", name,
                                 spec.gpus_per_node(), found.gpus.size()));
  const NodeGraph graph(spec);
  if (graph.nvswitch()) {
    Json part = {{"nvswitch", true}};
    if (spec.node.nvlink.in_network_reduction)
      part["in_network_reduction"] = true;
    return part;
  }
  Json pairs = Json::array();
  for (int a = 0; a < graph.gpus(); ++a)
    for (int b = a + 1; b < graph.gpus(); ++b)
      if (graph.bricks(a, b) > 0)
        pairs.push_back({a, b, graph.bricks(a, b)});
  return pairs.empty() ? Json::object() : Json{{"pairs", pairs}};
}

// Every GPU's links shared out evenly among the others.
Json even_pairs(const FoundNode& found, const Gpu& gpu)
{
  const int peers = static_cast<int>(found.gpus.size()) - 1;
  if (peers < 1 || gpu.nvlink_bricks / peers < 1)
    throw UsageError(fmt::format("--nvlink pairs: {} NVLinks of a {} do not reach {} peers",
                                 gpu.nvlink_bricks, gpu.name, peers));
  return {{"all_pairs", gpu.nvlink_bricks / peers}};
}

Json asked_for(const FoundNode& found, const Gpu& gpu, const std::string& how)
{
  if (how == "none")
    return Json::object();
  if (gpu.nvlink_bricks == 0)
    throw UsageError(fmt::format("--nvlink {}: a {} has no NVLink", how, gpu.name));
  if (how == "switch")
    return switched(gpu);
  return how == "pairs" ? even_pairs(found, gpu) : links_of_platform(found, how);
}

// The file names no NVLink. Nothing is said when the GPU has none or there is one GPU.
Json not_seen(const FoundNode& found, const Gpu& gpu, Notes& notes)
{
  const std::size_t n = found.gpus.size();
  if (gpu.nvlink_bricks == 0 || n < 2)
    return Json::object();
  if (found.nvlink_told) {
    notes.insert(fmt::format("warning: nvlink: the file shows none, although a {} has {}: none was "
                             "put in (--nvlink)",
                             gpu.name, gpu.nvlink_bricks));
    return Json::object();
  }
  const bool on_switch = gpu.nvlink_bricks >= kSwitchedBricks && n == 8;
  if (!on_switch && !(gpu.nvlink_bricks >= kSwitchedBricks && n == 4))
    throw ConfigError(found.file, "",
                      fmt::format("says nothing about NVLink, but a {} has {} of them: how are the "
                                  "{} GPUs joined?",
                                  gpu.name, gpu.nvlink_bricks, n),
                      kHint);
  notes.insert(fmt::format("warning: nvlink: the file names no GPU's links; {} was assumed, as on "
                           "boards with {} {} (--nvlink)",
                           on_switch ? "an NVSwitch" : "an equal share to each peer", n, gpu.name));
  return on_switch ? switched(gpu) : even_pairs(found, gpu);
}

} // namespace

// Direct links as they stand; a matrix that shows more bricks than a GPU has shows a switch.
Json nvlink_part(const FoundNode& found, const Gpu& gpu, const ImportOptions& options, Json& type,
                 Notes& notes)
{
  if (!options.nvlink.empty())
    return asked_for(found, gpu, options.nvlink);
  const std::size_t n = found.gpus.size();
  std::set<int> counts;
  int most = 0;
  for (std::size_t a = 0; a < n; ++a) {
    most = std::max(most, bricks_of(found, a));
    for (std::size_t b = 0; b < n; ++b)
      if (a != b)
        counts.insert(found.bricks[a][b]);
  }
  const bool to_switch = found.nvswitch.value_or(most > gpu.nvlink_bricks && counts.size() == 1);
  const int bricks = !to_switch                ? most
                     : found.switch_bricks > 0 ? found.switch_bricks
                                               : *counts.begin();
  if (bricks > gpu.nvlink_bricks)
    throw ConfigError(found.file, "",
                      fmt::format("shows {} NVLinks on a GPU, but a {} has {}", bricks, gpu.name,
                                  gpu.nvlink_bricks),
                      "is --gpu right?");
  if (to_switch) {
    if (bricks < gpu.nvlink_bricks) {
      type = {{"extends", type}, {"nvlink_bricks", bricks}};
      notes.insert(fmt::format("gpus: {} of the {} NVLinks of a {} are in use", bricks,
                               gpu.nvlink_bricks, gpu.name));
    }
    if (!found.nvswitch)
      notes.insert("nvlink: an NVSwitch was assumed, as every pair shows more links than a GPU "
                   "could give each peer");
    const bool adds = switch_adds(gpu);
    notes.insert(fmt::format("nvlink: whether the switch adds while it forwards "
                             "(in_network_reduction) is not told: assumed{}, as beside a {}",
                             adds ? "" : " not", gpu.name));
    return switched(gpu);
  }
  if (most == 0)
    return not_seen(found, gpu, notes);
  if (counts.size() == 1)
    return {{"all_pairs", *counts.begin()}};
  Json pairs = Json::array();
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b)
      if (found.bricks[a][b] > 0)
        pairs.push_back({a, b, found.bricks[a][b]});
  return {{"pairs", pairs}};
}

} // namespace foretrain::platforms
