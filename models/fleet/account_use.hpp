// GPU time that accounts used, older use counting less: u' = GPUs - u ln 2 / half-life.
#pragma once

#include "sim/base/units.hpp"

#include <cstddef>
#include <vector>

namespace foretrain::models::fleet {

class AccountUse {
public:
  AccountUse(std::size_t accounts, Seconds half_life);

  /// So many GPUs more (or fewer) from now on.
  void hold(std::size_t account, int gpus) { gpus_[account] += gpus; }
  /// Lets time pass in which accounts hold what they hold.
  void pass(Seconds time);
  /// GPU seconds.
  double of(std::size_t account) const { return use_[account]; }

private:
  double rate_; // per second
  std::vector<double> use_;
  std::vector<int> gpus_;
};

} // namespace foretrain::models::fleet
