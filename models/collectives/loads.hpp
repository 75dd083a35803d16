// What a collective moves over each hop, added up as an algorithm tells it: a list of all hops of
// all channels of 65,536 ranks would take half a gigabyte, and only flows of their own need it.
#pragma once

#include "sim/engine/communicator.hpp"

#include <compare>
#include <deque>
#include <limits>
#include <vector>

namespace foretrain::models {

/// A hop and the bytes that cross it per byte of the buffer on each rank.
struct Load {
  sim::Hop hop;
  double bytes = 0;
};

/// Per byte of the buffer on each rank, over hops inside nodes and between them, which protocols
/// expand differently. Bytes are payload.
struct InsideBetween {
  double inside = 0, between = 0;

  double& on(const sim::Hop& hop) { return hop.reach == sim::Reach::network ? between : inside; }
  auto operator<=>(const InsideBetween&) const = default;
};

class Loads {
public:
  /// `each`: every hop is kept, too.
  explicit Loads(bool each = false) : keeps_each_(each) {}

  void add(const sim::Hop& hop, double bytes);
  /// All hops have been added; only then may the sums be asked for.
  void finish();

  /// Units of a resource that different ones use; nothing at first. Thousands of nodes have few.
  const std::vector<InsideBetween>& sums() const { return sums_; }
  /// Which of the sums is this resource's.
  std::size_t sum_of(int resource) const;
  int resources() const { return static_cast<int>(sum_of_.size()); } // those behind use nothing
  /// Bytes on the busiest hop.
  InsideBetween most() const { return most_; }
  /// Bytes of the buffer per second that hops' own caps let through.
  InsideBetween caps() const { return caps_; }
  /// On all hops.
  double bytes() const { return bytes_; }
  const std::vector<Load>& each() const { return each_; }

private:
  std::deque<InsideBetween> by_resource_; // until finish(); grows without a copy
  std::vector<InsideBetween> sums_;
  std::vector<unsigned> sum_of_;
  InsideBetween most_;
  InsideBetween caps_{std::numeric_limits<double>::infinity(),
                      std::numeric_limits<double>::infinity()};
  double bytes_ = 0;
  bool keeps_each_;
  std::vector<Load> each_;
};

} // namespace foretrain::models
