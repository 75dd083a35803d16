#include "experiments/run/simulate/node_use.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

const char* kind_of(platforms::PartKind kind)
{
  switch (kind) {
  case platforms::PartKind::gpu:
    return "gpu";
  case platforms::PartKind::pcie_switch:
    return "pcie-switch";
  case platforms::PartKind::socket:
    return "cpu";
  case platforms::PartKind::nic:
    return "adapter";
  case platforms::PartKind::disk:
    return "disk";
  }
  return "?";
}

// Disks are not the machine's: who stores data on them makes a resource of their name.
std::optional<double> disk_use(const sim::Engine& engine, const models::Job& job, int node,
                               const std::string& name)
{
  for (int r = 0; r < engine.resource_count(); ++r)
    if (engine.kind({r}) == sim::ResourceKind::disk)
      if (const sim::Resource disk = engine.resource({r}); disk.node == node && disk.part == name)
        return job.utilisation({r});
  return std::nullopt;
}

} // namespace

NodeUse node_use(const sim::Engine& engine, const platforms::Machine& machine,
                 const models::Job& job, int node)
{
  const platforms::NodeView view = machine.view(node);
  NodeUse use;
  use.node = node;
  use.cores = job.utilisation(view.cores);
  for (const platforms::ViewedPart& part : view.parts) {
    std::optional<double> busy;
    if (part.resource.value >= 0)
      busy = job.utilisation(part.resource);
    else if (part.kind == platforms::PartKind::disk)
      busy = disk_use(engine, job, node, part.name);
    use.parts.push_back({part.name, kind_of(part.kind), busy});
  }
  for (const platforms::ViewedLink& link : view.links)
    use.links.push_back({link.kind, link.from, link.to, link.capacity, job.utilisation(link.there),
                         job.utilisation(link.back)});
  return use;
}

} // namespace foretrain::experiments
