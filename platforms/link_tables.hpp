// What single copies and connections of an idle machine reach, as bandwidthTest, ib_write_bw and
// iperf3 measure them.
#pragma once

#include "platforms/machine.hpp"

#include <string>
#include <vector>

namespace foretrain::platforms {

/// Copies between host memory of a GPU's socket and the GPU, GB/s. Throws ConfigError at
/// spec.origin.
struct HostCopies {
  double pinned = 0;   // to the GPU
  double pageable = 0; // likewise, from memory that the driver copies through a buffer of its own
  double back = 0;     // to the host, pinned
  Seconds latency{};
};
HostCopies host_copies(const PlatformSpec& spec, const Stack& stack, int gpu);
/// The same of all GPUs of a node at once, together.
HostCopies all_host_copies(const PlatformSpec& spec, const Stack& stack);

/// Host memory of one node to that of another through one adapter of each.
struct Connections {
  std::string nic;
  double one = 0;    // GB/s of a connection
  double many = 0;   // of sixteen together
  double duplex = 0; // of as many each way, together
  Seconds latency{}; // of a message
};
/// Of each adapter that the stack's transport may use; none without a second node or a network.
std::vector<Connections> connections(const PlatformSpec& spec, const Stack& stack);

/// Both as tables; "" where there is nothing to tell.
std::string host_copies_text(const PlatformSpec& spec, const Stack& stack);
std::string connections_text(const PlatformSpec& spec, const Stack& stack);

} // namespace foretrain::platforms
