#include "models/fleet/account_use.hpp"

#include <cmath>

namespace foretrain::models::fleet {

AccountUse::AccountUse(std::size_t accounts, Seconds half_life)
    : rate_(std::log(2.0) / half_life.value()), use_(accounts, 0), gpus_(accounts, 0)
{
}

void AccountUse::pass(Seconds time)
{
  const double left = std::exp(-rate_ * time.value());
  for (std::size_t account = 0; account < use_.size(); ++account)
    use_[account] = use_[account] * left + gpus_[account] * (1 - left) / rate_;
}

} // namespace foretrain::models::fleet
