#include "experiments/run/limits/resource_words.hpp"

#include "platforms/link_words.hpp"

#include <string_view>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// "gpu3" without what it is.
std::string number_of(const std::string& gpu)
{
  return gpu.substr(std::string_view("gpu").size());
}

// A part of a node.
std::string part_words(const sim::Resource& r)
{
  using enum sim::ResourceKind;
  const bool out = r.direction == sim::Direction::out;
  switch (r.kind) {
  case compute:
    return "GPU " + number_of(r.part);
  case device_memory:
    return "memory of GPU " + number_of(r.part);
  case pcie:
    return "PCIe " + std::string(out ? "uplink" : "downlink") + " of " + r.part;
  case root_port:
    return "PCIe root port of " + r.part;
  case socket_link:
    return "link between the CPU sockets";
  case nvlink:
    return r.direction == sim::Direction::none ? "NVLink " + r.part
                                               : "NVLink of GPU " + number_of(r.part);
  case dram:
    return "memory bandwidth of " + r.part;
  case adapter:
    return "network adapter " + r.part + (out ? " (sending)" : " (receiving)");
  case cores:
    return r.part.empty() ? "CPU cores" : "CPU cores of job " + r.part;
  case mount:
    return "connection to the file server";
  case disk:
    return "disk " + r.part;
  case summation_thread:
    return "threads that sum";
  case network_thread:
    return "network thread of the parameter servers";
  case verbs:
    return "what one process of the parameter servers passes over RDMA";
  case flow:
    return "what a network lets through of one flow out";
  case flow_core:
    return "core that serves the packets of a flow";
  case layer_thread:
    return "packet thread of " + r.part;
  default:
    return r.part;
  }
}

} // namespace

std::string resource_words(const sim::Resource& resource)
{
  using enum sim::ResourceKind;
  switch (resource.kind) {
  case file_thread: // one on each node, however many decode
    return "thread that opens files";
  case storage_disks:
    return "disks of the file server";
  case storage_operations:
    return "operations of the file server's disks";
  case storage_cores:
    return "CPU cores of the file server";
  case storage_link:
    return "network adapters of the file server";
  case storage_gateway:
    return "gateway to the file server";
  case uplink:
    return (resource.direction == sim::Direction::out ? "uplinks of switch "
                                                      : "downlinks of switch ") +
           resource.part.substr(resource.part.find("leaf") + std::string_view("leaf").size());
  default:
    return resource.node < 0 ? resource.part
                             : fmt::format("{} of node {}", part_words(resource), resource.node);
  }
}

void use_link_words(sim::GpuVendor vendor, PointResult& result)
{
  const auto tell = [vendor](std::string& text) {
    text = platforms::link_words(std::move(text), vendor);
  };
  for (JobResult& job : result.jobs) {
    Bottleneck& limit = job.bottleneck;
    for (std::string* text : {&limit.words, &limit.why, &limit.doubled, &limit.name})
      tell(*text);
    for (std::string& tie : limit.ties)
      tell(tie);
    for (ResourceUse& use : job.busiest)
      tell(use.words);
  }
}

} // namespace foretrain::experiments
