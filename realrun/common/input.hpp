// The input pipeline: threads read and decode samples into batch slots ahead of the training loop.
//
// Sample order: step s of rank r takes samples (s * world + r) * batch ... + batch - 1, so that the
// ranks of one step together hold one contiguous batch.
#pragma once

#include "realrun/common/dataset.hpp"
#include "realrun/common/settings.hpp"

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace foretrain::realrun {

struct InputShape {
  int batch = 1, image = 0, channels = 0, classes = 0;
  std::size_t sample_size() const
  {
    return static_cast<std::size_t>(image) * static_cast<std::size_t>(image) *
           static_cast<std::size_t>(channels);
  }
  std::size_t batch_size() const { return sample_size() * static_cast<std::size_t>(batch); }
};

/// One batch, owned by the pipeline until the next call of next() after release().
struct Batch {
  float* pixels = nullptr; // batch x image x image x channels
  const int* labels = nullptr;
  double wait_s = 0.0;   // the caller waited this long
  double read_s = 0.0;   // thread-seconds spent reading files
  double decode_s = 0.0; // thread-seconds spent decoding and shrinking
  double bytes = 0.0;    // bytes read
};

class Input {
public:
  virtual ~Input() = default;
  /// Blocks until the next batch is there. Throws what a reading thread threw.
  virtual Batch next() = 0;
  /// Gives the oldest batch's memory back to the pipeline.
  virtual void release() = 0;
};

/// Memory for `slots` batches, supplied by the caller (pinned memory on a GPU node).
using Slots = std::vector<float*>;

/// Number of slots the settings ask for.
std::size_t slots_needed(const Settings& settings);

/// The input the settings name. Synthetic: the slots are filled once and served in turn.
std::unique_ptr<Input> make_input(const Settings& settings, const InputShape& shape, Slots slots);

/// Batch number `step` of rank `rank` of `world`, made in memory.
void fill_batch(const InputShape& shape, int seed, std::size_t step, int rank, int world,
                float* pixels, std::vector<int>& labels);

} // namespace foretrain::realrun
