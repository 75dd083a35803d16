// The ways between the GPUs of a job and its parameter servers.
#pragma once

#include "platforms/machine.hpp"
#include "sim/engine/server_links.hpp"

#include <string>
#include <vector>

namespace foretrain::platforms {

/// How processes of workers and servers use the machine.
struct ServerPlan {
  std::vector<int> nodes;      // of each server; may be empty with workers per node
  bool worker_per_node = true; // the GPUs of a node push and pull as one; else each by itself
  double copies = 0;           // of each byte by the CPU, beyond the transport's, at each end
  int network_threads = 0;     // that serve the network in a process; 0: one per connection
  BytesPerSecond verbs_rate{}; // of a process over RDMA, each way; 0: what the adapter carries
  bool in_process = false;     // the one worker holds the variables itself, in host memory
  bool loopback = false;       // processes of one node reach each other through sockets, too
};

/// The links of a job whose rank r runs on ranks[r]. Network threads become resources of the
/// engine. Everything goes through the first training adapter of a node, as processes that listen
/// on one address do. The machine must outlive the result.
sim::ServerLinks make_server_links(sim::Engine& engine, const Machine& machine,
                                   const std::vector<GpuPlace>& ranks, const ServerPlan& plan,
                                   const std::string& name);

} // namespace foretrain::platforms
