// What each operation of a program waits for, and an order in which all of them can be taken.
#pragma once

#include "sim/workload/program.hpp"

#include <span>
#include <vector>

namespace foretrain::sim {

class WorkOrder {
public:
  explicit WorkOrder(const Program& program);

  /// By their edges, and those before them on their streams.
  std::span<const int> before(int op) const
  {
    const auto i = static_cast<std::size_t>(op);
    return {before_.data() + first_[i], before_.data() + first_[i + 1]};
  }
  /// Each operation after all that it waits for; those that wait for each other in a circle are
  /// missing.
  const std::vector<int>& sequence() const { return sequence_; }

private:
  void find_sequence();

  std::vector<int> first_, before_; // compressed rows
  std::vector<int> sequence_;
};

} // namespace foretrain::sim
