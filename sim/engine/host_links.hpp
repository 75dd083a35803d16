// What an all-reduce through host memory sees of a machine: processes that hold some GPUs each, and
// what a byte costs between GPUs, host memory and the next process. Platforms fill it in; models
// run the exchange over it.
#pragma once

#include "sim/engine/communicator.hpp"

#include <string>
#include <vector>

namespace foretrain::sim {

struct HostLinks {
  std::string name;
  /// The GPUs of each process.
  std::vector<Communicator> local;
  /// Per byte of a buffer that one GPU, the first, or every GPU of a process copies.
  std::vector<Hop> first_to_host, first_to_device;
  std::vector<Hop> all_to_host, all_to_device;
  /// Per byte between host memory of a process and of the next one around.
  std::vector<Hop> next;
  /// Of each process: its node's cores, and memory of the socket that its adapter hangs on.
  std::vector<int> cores, memory;

  int processes() const { return static_cast<int>(next.size()); }
};

} // namespace foretrain::sim
