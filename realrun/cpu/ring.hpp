// Ring all-reduce over TCP: n-1 reduce-scatter steps, then n-1 all-gather steps, each rank sending
// to its right neighbour and receiving from its left one at the same time.
// Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 2009.
#pragma once

#include "realrun/common/socket.hpp"
#include "realrun/common/world.hpp"

#include <span>
#include <vector>

namespace foretrain::realrun {

class Ring {
public:
  /// Connects to both neighbours, with the addresses exchanged over `world`.
  explicit Ring(World& world);

  /// Every rank's `data` becomes the sum over ranks. All ranks must call it in the same order with
  /// the same size. Throws PeerError.
  void all_reduce(std::span<float> data);

  /// Wakes a thread that is inside all_reduce, with an error.
  void shut_down() const;

private:
  void step(std::span<float> data, std::size_t send_chunk, std::size_t receive_chunk, bool reduce);
  std::span<float> chunk(std::span<float> data, std::size_t index) const;

  std::size_t rank_, size_;
  double timeout_s_;
  Socket right_, left_;
  std::vector<float> arriving_;
};

} // namespace foretrain::realrun
