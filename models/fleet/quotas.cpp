#include "models/fleet/quotas.hpp"

#include <utility>

namespace foretrain::models::fleet {

Quotas::Quotas(std::vector<Quota> quotas) : quotas_(std::move(quotas)), used_(quotas_.size(), 0)
{
  for (const Quota& quota : quotas_)
    total_ += quota.gpus.value_or(0);
}

bool Quotas::allow(std::uint32_t queue, int gpus) const
{
  if (!limited(queue) || used_[queue] + gpus <= *quotas_[queue].gpus)
    return true;
  if (!quotas_[queue].borrow)
    return false;
  int used = gpus; // of all quotas together
  for (std::uint32_t other = 0; other < quotas_.size(); ++other)
    if (limited(other))
      used += used_[other];
  return used <= total_;
}

bool Quotas::ever_allow(std::uint32_t queue, int gpus) const
{
  if (!limited(queue))
    return true;
  return gpus <= (quotas_[queue].borrow ? total_ : *quotas_[queue].gpus);
}

} // namespace foretrain::models::fleet
