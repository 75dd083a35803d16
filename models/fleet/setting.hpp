// What a simulation of a cluster is told.
#pragma once

#include "models/fleet/checkpoint.hpp"
#include "models/fleet/decided.hpp"
#include "models/fleet/outages.hpp"
#include "models/fleet/policy.hpp"
#include "models/fleet/quotas.hpp"
#include "models/fleet/speeds.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace foretrain::models::fleet {

struct FleetSetting {
  ClusterShape shape; // spare nodes are the last ones
  int spares = 0;
  Seconds spare_start{}; // until a spare node that is called is in service: cold spares
  Policy policy;
  Decide decide;             // who starts, instead of the policy's backfill
  std::vector<Quota> quotas; // by queue
  Speeds speeds;
  OutageSource outages;        // none: nothing fails
  std::vector<Window> windows; // of maintenance and reservations, by their beginning
  bool keep_place = false;     // a job that failed keeps the GPUs that are up; else it queues again
  Seconds detect{};            // until a job that failed gives up its GPUs
  Seconds restart{};           // until work goes on, after a failure or preemption
  std::vector<Checkpointing> checkpointing{{}}; // that jobs refer to
  bool history = false;                         // note who held what, and the queue over time
  std::function<bool(std::size_t ended)> go_on; // asked now and then; false stops the simulation
};

} // namespace foretrain::models::fleet
