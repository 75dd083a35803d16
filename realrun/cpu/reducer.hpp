// The communication thread: reduces gradient buckets in the order they are handed over, while the
// main thread goes on with backward.
#pragma once

#include "realrun/cpu/ring.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace foretrain::realrun {

struct ReduceTimes { // clock seconds
  double ready = 0.0, start = 0.0, end = 0.0;
};

class Reducer {
public:
  explicit Reducer(Ring& ring);
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  /// Hands a bucket over; its memory must stay until wait() returns.
  void submit(std::span<float> bucket);
  /// Blocks until all buckets are reduced and returns their times in order. Rethrows PeerError.
  std::vector<ReduceTimes> wait();

private:
  void work();

  Ring& ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::span<float>> queue_;
  std::vector<ReduceTimes> times_;
  std::size_t finished_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

} // namespace foretrain::realrun
