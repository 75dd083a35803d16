// Device times of the operations of a pass: an event before the first and after each.
#pragma once

#include "realrun/cuda/device.hpp"

#include <vector>

namespace foretrain::realrun {

class Timeline {
public:
  explicit Timeline(std::size_t operations) : marks_(operations + 1) {}

  void start(const Stream& stream)
  {
    at_ = 0;
    marks_[0].record(stream);
  }
  void mark(const Stream& stream) { marks_[++at_].record(stream); }

  const Event& first() const { return marks_.front(); }
  const Event& last() const { return marks_[at_]; }
  /// Seconds of the i-th operation of the pass; the stream must have finished it.
  double operator[](std::size_t i) const { return seconds_between(marks_[i], marks_[i + 1]); }
  double total() const { return seconds_between(first(), last()); }

private:
  std::vector<Event> marks_;
  std::size_t at_ = 0;
};

} // namespace foretrain::realrun
