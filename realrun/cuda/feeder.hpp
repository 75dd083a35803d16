// Brings batches to the device: pinned host slots, two device slots, copies on their own stream, so
// that batch i + 1 travels while batch i is computed.
#pragma once

#include "realrun/common/input.hpp"
#include "realrun/cuda/device.hpp"

#include <array>
#include <memory>
#include <vector>

namespace foretrain::realrun {

class Feeder {
public:
  Feeder(const Settings& settings, const InputShape& shape);

  /// Takes the next batch from the input (may wait for it) and queues its copy to device slot
  /// `step` mod 2. `consumed` must have been recorded when that slot was last read from.
  void send(std::size_t step);
  /// Work on `stream` from now on sees the batch of `step`.
  void hold(std::size_t step, const Stream& stream) const;
  /// Tells that work queued on `stream` so far was the last to read the batch of `step`.
  void consumed(std::size_t step, const Stream& stream) const;
  /// The device has finished the copy of `step`: its host memory goes back to the input.
  void release(std::size_t step);

  const float* pixels(std::size_t step) const { return slot(step).pixels.data(); }
  const int* labels(std::size_t step) const { return slot(step).labels.data(); }
  /// Read, decode and wait times of the batch of `step`, and the seconds its copy took.
  const Batch& batch(std::size_t step) const { return slot(step).batch; }
  double copy_s(std::size_t step) const;
  double copy_bytes() const;

private:
  struct Slot {
    explicit Slot(const InputShape& shape);
    DeviceBuffer<float> pixels;
    DeviceBuffer<int> labels;
    PinnedBuffer<int> host_labels;
    Event begin, arrived, free;
    Batch batch;
  };
  const Slot& slot(std::size_t step) const { return slots_[step % slots_.size()]; }
  Slot& slot(std::size_t step) { return slots_[step % slots_.size()]; }

  InputShape shape_;
  Stream stream_;
  std::vector<PinnedBuffer<float>> memory_;
  std::array<Slot, 2> slots_;
  std::unique_ptr<Input> input_; // last: its threads write into memory_
};

} // namespace foretrain::realrun
