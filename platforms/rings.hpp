// Rings through the GPUs of a job, found in the topology the way NCCL looks for them.
//
// Inside a node: as many edge-disjoint Hamiltonian cycles as the NVLinks allow, each used in both
// directions; without such a cycle one ring over PCIe in the order of the PCIe tree. Between nodes:
// one ring per adapter, entering and leaving each node through GPUs near that adapter.
// Jeaugey, "NCCL 2.0", GTC 2017; NCCL source, src/graph/search.cc.
#pragma once

#include "platforms/machine.hpp"

#include <string>
#include <vector>

namespace foretrain::platforms {

/// How a library makes rings inside one node: by search, as above, or one ring in the order of the
/// devices whatever joins them (NCCL 1.x, src/core.cu). Between nodes they are always searched for.
enum class RingOrder { search, devices };

/// The communicator of a job whose rank r runs on ranks[r]. Channels come out in a fixed order.
/// The machine must outlive it.
sim::Communicator make_communicator(const Machine& machine, const std::vector<GpuPlace>& ranks,
                                    const std::string& name, RingOrder order = RingOrder::search);

/// Edge-disjoint Hamiltonian cycles over the NVLink bricks among some GPUs of a node, at most one
/// direction of each: a cycle starts at gpus.front(). Empty when there is none. At most 10 GPUs.
std::vector<std::vector<int>> nvlink_rings(const NodeGraph& graph, const std::vector<int>& gpus);

/// An order of the GPUs that starts at `first`, ends at `last` (or anywhere when last < 0) and
/// steps over NVLink where it can, else in the order of the PCIe tree.
std::vector<int> chain(const NodeGraph& graph, const std::vector<int>& gpus, int first, int last,
                       bool nvlink);

} // namespace foretrain::platforms
