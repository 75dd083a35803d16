// What a collective moves over each hop, added up as an algorithm tells it: a list of all hops of
// all channels of 65,536 ranks would take half a gigabyte, and only flows of their own need it.
#pragma once

#include "sim/engine/communicator.hpp"

#include <compare>
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
  /// All hops have been added; the sums may be asked for. Thousands of nodes have few different
  /// ones.
  void finish();

  const std::vector<InsideBetween>& sums() const { return sums_; } // units of a resource; 0 first
  /// By resource, which of the sums is its; those behind the last have the first.
  const std::vector<unsigned>& sum_of() const { return sum_of_; }
  InsideBetween most() const { return most_; } // bytes on the busiest hop
  InsideBetween caps() const
  {
    return caps_;
  } // bytes of the buffer per second that hops' own caps let through
  double bytes() const { return bytes_; } // on all hops
  const std::vector<Load>& each() const { return each_; }

private:
  std::vector<InsideBetween> sums_; // until finish() by resource
  std::vector<unsigned> sum_of_;
  InsideBetween most_;
  InsideBetween caps_{std::numeric_limits<double>::infinity(),
                      std::numeric_limits<double>::infinity()};
  double bytes_ = 0;
  bool keeps_each_;
  std::vector<Load> each_;
};

} // namespace foretrain::models
