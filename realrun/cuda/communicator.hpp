// NCCL between the ranks of a World, never waiting for ever: the communicator is non-blocking, and
// whoever waits looks at NCCL's asynchronous errors, at the peers' control connections and at the
// clock.
#pragma once

#include "realrun/common/world.hpp"
#include "realrun/cuda/device.hpp"

namespace foretrain::realrun {

class Communicator {
public:
  /// Rank 0 makes the NCCL id and hands it out over `world`. Throws DeviceError or PeerError.
  explicit Communicator(World& world);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Queues an in-place sum of `count` fp32 values on `stream`.
  void all_reduce(float* data, std::size_t count, const Stream& stream);

  /// Waits until `stream` has finished. Throws PeerError when a peer is lost or nothing happens for
  /// the world's timeout, DeviceError when NCCL or the device reports an error; the communicator is
  /// aborted then, so that its kernels leave the device.
  void wait(const Stream& stream);

private:
  void settle(const char* call);     // until a non-blocking call is no longer in progress
  void look_around(double waited_s); // throws when there is no point in waiting longer
  void abort() noexcept;

  World& world_;
  ncclComm_t comm_ = nullptr;
};

} // namespace foretrain::realrun
