#include "realrun/cpu/reducer.hpp"

#include "realrun/common/clock.hpp"

#include <utility>

namespace foretrain::realrun {

Reducer::Reducer(Ring& ring) : ring_(ring), thread_([this] { work(); }) {}

Reducer::~Reducer()
{
  bool unfinished = false;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    unfinished = finished_ < queue_.size();
  }
  changed_.notify_all();
  if (unfinished)
    ring_.shut_down();
  thread_.join();
}

void Reducer::submit(std::span<float> bucket)
{
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(bucket);
    times_.push_back({now_s(), 0.0, 0.0});
  }
  changed_.notify_all();
}

std::vector<ReduceTimes> Reducer::wait()
{
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return error_ || finished_ == queue_.size(); });
  if (error_)
    std::rethrow_exception(error_);
  queue_.clear();
  finished_ = 0;
  return std::exchange(times_, {});
}

void Reducer::work()
{
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || finished_ < queue_.size(); });
    if (stopping_)
      return;
    const std::size_t index = finished_;
    const std::span<float> bucket = queue_[index];
    lock.unlock();
    const double start = now_s();
    std::exception_ptr error;
    try {
      ring_.all_reduce(bucket);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    times_[index].start = start;
    times_[index].end = now_s();
    ++finished_;
    error_ = error;
    changed_.notify_all();
    if (error_)
      return;
  }
}

} // namespace foretrain::realrun
