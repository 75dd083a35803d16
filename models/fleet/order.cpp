#include "models/fleet/order.hpp"

#include <stdexcept>

namespace foretrain::models::fleet {

namespace {

double first_come(const JobView& view)
{
  return view.job.submit.value();
}

double shortest_job(const JobView& view)
{
  return view.expected.value();
}

double shortest_remaining(const JobView& view)
{
  return view.remaining.value();
}

// Tiresias (Gu et al., NSDI 2019): GPUs times time.
double least_attained_service(const JobView& view)
{
  return view.attained;
}

double highest_priority(const JobView& view)
{
  return -view.job.priority;
}

double least_used_account(const JobView& view)
{
  return view.account_use;
}

constexpr OrderEntry kOrders[] = {
    {Order::fifo, &first_come, false},           {Order::sjf, &shortest_job, false},
    {Order::srtf, &shortest_remaining, false},   {Order::las, &least_attained_service, false},
    {Order::priority, &highest_priority, false}, {Order::fair_share, &least_used_account, true},
};

} // namespace

const OrderEntry& order_of(Order order)
{
  for (const OrderEntry& entry : kOrders)
    if (entry.order == order)
      return entry;
  throw std::logic_error("an order without a key");
}

} // namespace foretrain::models::fleet
