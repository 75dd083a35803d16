#include "models/fleet/backfill.hpp"

#include <stdexcept>

namespace foretrain::models::fleet {

namespace {

struct BackfillEntry {
  Backfilling backfill;
  std::unique_ptr<Backfill> (*make)();
};

constexpr BackfillEntry kBackfills[] = {
    {Backfilling::none, &strict_order},
    {Backfilling::easy, &easy},
    {Backfilling::conservative, &conservative},
};

} // namespace

std::unique_ptr<Backfill> backfill_by(const Policy& policy)
{
  if (!policy.gang)
    return pod_by_pod();
  if (policy.backfill == Backfilling::conservative && policy.order != Order::fifo)
    return conservative_anew();
  for (const BackfillEntry& entry : kBackfills)
    if (entry.backfill == policy.backfill)
      return entry.make();
  throw std::logic_error("a way to backfill without a function");
}

} // namespace foretrain::models::fleet
