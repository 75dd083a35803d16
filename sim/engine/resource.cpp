#include "sim/engine/resource.hpp"

namespace foretrain::sim {

namespace {

// What follows a part's name.
const char* suffix_of(ResourceKind kind)
{
  switch (kind) {
  case ResourceKind::compute:
    return "/compute";
  case ResourceKind::device_memory:
    return "/memory";
  case ResourceKind::nvlink:
    return "/nvlink";
  case ResourceKind::pcie:
    return "/pcie";
  case ResourceKind::root_port:
    return "/root-port";
  case ResourceKind::socket_link:
    return "/socket-link";
  case ResourceKind::dram:
    return "/dram";
  case ResourceKind::file_thread:
    return "/file-thread";
  case ResourceKind::flow_core:
    return "/core";
  case ResourceKind::layer_thread:
    return "/thread";
  default:
    return "";
  }
}

std::string local_name(const Resource& r)
{
  const bool out = r.direction == Direction::out;
  switch (r.kind) {
  case ResourceKind::nvlink: // of a GPU to a switch, or between two
    return r.direction == Direction::none ? "nvlink/" + r.part
                                          : r.part + "/nvlink" + (out ? "/tx" : "/rx");
  case ResourceKind::adapter:
    return r.part + (out ? "/tx" : "/rx");
  case ResourceKind::pcie:
  case ResourceKind::socket_link:
  case ResourceKind::uplink:
    return r.part + suffix_of(r.kind) + (out ? "/up" : "/down");
  case ResourceKind::cores:
    return r.part.empty() ? "cores" : r.part + "/cores";
  case ResourceKind::mount:
    return "storage-connection";
  case ResourceKind::summation_thread:
    return "summation threads";
  case ResourceKind::storage_disks:
  case ResourceKind::storage_operations:
  case ResourceKind::storage_cores:
  case ResourceKind::storage_link:
  case ResourceKind::storage_gateway:
    return "storage/" + r.part;
  default:
    return r.part + suffix_of(r.kind);
  }
}

} // namespace

bool is_fabric(ResourceKind kind)
{
  switch (kind) {
  case ResourceKind::uplink:
  case ResourceKind::storage_disks:
  case ResourceKind::storage_operations:
  case ResourceKind::storage_cores:
  case ResourceKind::storage_link:
  case ResourceKind::storage_gateway:
    return true;
  default:
    return false;
  }
}

std::string name_of(const Resource& resource)
{
  const std::string local = local_name(resource);
  return resource.node < 0 ? local : "node" + std::to_string(resource.node) + "/" + local;
}

} // namespace foretrain::sim
