#include "models/training/coordination.hpp"

#include <algorithm>

namespace foretrain::models {

Coordination::Coordination(const Framework& f, int ranks)
    : cost(f.coordination + ranks * f.coordination_per_rank)
{
  const bool cycles = f.fusion_cycle.value() > 0 && f.bucket_order == BucketOrder::ready &&
                      f.overlap != Overlap::none;
  period = cycles ? std::max(f.fusion_cycle, cost) : Seconds(0);
}

} // namespace foretrain::models
