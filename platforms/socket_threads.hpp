// Who moves a channel's bytes where NCCL speaks over sockets.
//
// src/transport/net_socket.cc (ncclNetSocketGetNsockNthread): a channel has NCCL_SOCKET_NTHREADS
// threads of its own at either end, each with NCCL_NSOCKS_PERTHREAD connections. By default these
// are two with eight over Amazon's adapters and four with one over Google's, by the vendor in
// /sys/class/net, which a pod's or a guest's virtual interface does not have; over others none from
// 2.7 on (one before): the one thread of the rank (src/proxy.cc) then moves the bytes of all its
// channels in turn, each over one connection.
#pragma once

#include "platforms/graph_search.hpp"
#include "platforms/machine.hpp"

#include <utility>
#include <vector>

namespace foretrain::platforms {

/// A channel of a graph, and how many of its channels take the same way.
using AlikeChannels = std::vector<std::pair<std::size_t, int>>;

class SocketThreads {
public:
  SocketThreads(const Machine& machine, const SearchRules& rules);

  /// Threads of a channel alone over an adapter; 0: that of the rank moves its bytes.
  int own(int nic) const;
  /// Connections of a channel over an adapter.
  int connections(int nic) const;

  /// Raises the cap of a hop, which is that of one channel, to that of `alike` channels over the
  /// adapters `from` and `to` where `sharing` channels, these among them, have the same rank at the
  /// end of the hop that has the most.
  void raise(sim::Hop& hop, int alike, int sharing, int from, int to) const;

private:
  /// The adapter, where NCCL sees whose it is.
  const Nic* seen(int nic) const;

  const Machine& machine_;
  int version_;
};

} // namespace foretrain::platforms
