// Which of two jobs goes first. An order is one function and one line of the table in order.cpp.
#pragma once

#include "models/fleet/job.hpp"
#include "models/fleet/policy.hpp"

namespace foretrain::models::fleet {

/// What an order may look at.
struct JobView {
  const Job& job;
  Seconds expected{};     // run time that the scheduler expects: the limit, else the work
  Seconds remaining{};    // of it
  double attained = 0;    // GPU seconds that it had
  double account_use = 0; // GPU seconds that its account had, older ones counting less
};

/// Lower goes first; jobs of one key go by their arrival.
using OrderKey = double (*)(const JobView& view);
struct OrderEntry {
  Order order;
  OrderKey key;
  bool by_account; // keys of waiting jobs change with what others use
};
const OrderEntry& order_of(Order order);

} // namespace foretrain::models::fleet
