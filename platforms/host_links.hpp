// The ways between the GPUs of a job, host memory of their processes and each other.
#pragma once

#include "platforms/machine.hpp"
#include "sim/engine/host_links.hpp"

#include <string>
#include <vector>

namespace foretrain::platforms {

/// Sockets of one node: no packets on a wire, but system calls and copies at both ends, `copies` of
/// them beyond the transport's. Also the core time of one end, per byte.
sim::Hop loopback_hop(const Machine& machine, int node, double copies);
double loopback_work(const Transport& transport, double copies);

/// The links of a job whose rank r runs on ranks[r]: the GPUs of a node are one process, or each is
/// one. Everything between nodes goes through the first training adapter. The machine must outlive
/// the result.
sim::HostLinks make_host_links(const Machine& machine, const std::vector<GpuPlace>& ranks,
                               bool process_per_node, const std::string& name);

} // namespace foretrain::platforms
