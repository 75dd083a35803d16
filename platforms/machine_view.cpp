// What a picture of a node needs.
#include "platforms/machine.hpp"

namespace foretrain::platforms {

namespace {

constexpr const char* kSwitch = "nvswitch";

} // namespace

NodeView Machine::view(int node) const
{
  NodeView view;
  view.cores = cores(node);
  for (const Part& part : graph_.parts()) {
    sim::ResourceId own{-1};
    if (part.kind == PartKind::gpu)
      own = compute({node, part.number});
    else if (part.kind == PartKind::socket)
      own = dram(node, part.number);
    view.parts.push_back({part.name, part.kind, own});
  }
  const auto name = [this](int part) {
    return graph_.parts()[static_cast<std::size_t>(part)].name;
  };
  for (std::size_t j = 0; j < graph_.joins().size(); ++j) {
    const Join& join = graph_.joins()[j];
    const int up = pcie_ + 2 * static_cast<int>(j);
    view.links.push_back({join.between_sockets ? "socket-link" : "pcie", name(join.lower),
                          name(join.upper), join.capacity, at(node, up), at(node, up + 1)});
  }
  add_nvlinks(node, view);
  for (std::size_t n = 0; n < spec_.networks.size(); ++n)
    for (const std::string& nic : spec_.networks[n].nics)
      for (std::size_t i = 0; i < spec_.nics.size(); ++i)
        if (spec_.node.nics[i].name == nic) {
          const int tx = nic_ + 2 * static_cast<int>(i);
          view.links.push_back({"network", nic, spec_.fabrics[n].name, spec_.nics[i].rate,
                                at(node, tx), at(node, tx + 1)});
        }
  return view;
}

void Machine::add_nvlinks(int node, NodeView& view) const
{
  const int gpus = graph_.gpus();
  const auto name = [this](int gpu) {
    return graph_.parts()[static_cast<std::size_t>(graph_.gpu(gpu))].name;
  };
  const BytesPerSecond brick = spec_.gpu.nvlink_brick;
  for (int a = 0; a < gpus; ++a)
    if (graph_.nvswitch()) {
      view.links.push_back({"nvlink", name(a), kSwitch, spec_.gpu.nvlink_bricks * brick,
                            at(node, nvlink_ + 2 * a), at(node, nvlink_ + 2 * a + 1)});
    } else {
      for (int b = a + 1; b < gpus; ++b)
        if (const int bricks = graph_.bricks(a, b); bricks > 0)
          view.links.push_back({"nvlink", name(a), name(b), bricks * brick,
                                at(node, nvlink_ + gpus * a + b),
                                at(node, nvlink_ + gpus * b + a)});
    }
}

} // namespace foretrain::platforms
