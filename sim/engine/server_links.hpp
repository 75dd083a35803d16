// What parameter servers see of a machine: workers that push gradients, servers that add them, and
// what each byte costs on the way. Platforms fill it in; models run the servers over it.
#pragma once

#include "sim/engine/communicator.hpp"

#include <functional>
#include <string>
#include <vector>

namespace foretrain::sim {

struct ServerLinks {
  std::string name;
  int workers = 1;
  int servers = 0;
  /// The GPUs of each worker when several share one: gradients are first added among them.
  std::vector<Communicator> local;
  /// Per gradient byte of a worker: between its GPUs and memory of its host.
  std::vector<Hop> to_host, to_device;
  /// Per byte between host memory of a worker and of a server.
  std::function<Hop(int worker, int server)> push, pull;
  /// Of each server: its node's cores, and memory of the socket that its adapter hangs on.
  std::vector<int> cores, memory;
};

} // namespace foretrain::sim
