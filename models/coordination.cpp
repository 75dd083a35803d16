#include "models/coordination.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::models {

Coordination::Coordination(const Framework& f, int ranks)
    : cost_(f.coordination + ranks * f.coordination_per_rank)
{
  const bool cycles = f.fusion_cycle.value() > 0 && f.bucket_order == BucketOrder::ready &&
                      f.overlap != Overlap::none;
  period_ = cycles ? std::max(f.fusion_cycle, cost_) : Seconds(0);
}

Seconds Coordination::wait(Seconds ready, double phase) const
{
  if (period_.value() <= 0)
    return cost_;
  const double cycles = ready / period_ - phase;
  return std::max(0.0, std::ceil(cycles - 1e-9) - cycles) * period_ + cost_;
}

} // namespace foretrain::models
