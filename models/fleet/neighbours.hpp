// Jobs that meet, and so may slow each other down.
#pragma once

#include "models/fleet/checkpoint.hpp"
#include "models/fleet/gpu_set.hpp"
#include "models/fleet/job.hpp"

#include <span>
#include <vector>

namespace foretrain::models::fleet {

/// A running job and what it holds.
struct Placed {
  JobId id;
  const Allocation* gpus;
  bool first_pass = false;            // over its data set, on nodes that have none of it
  Transfer transfer = Transfer::none; // of its checkpoint
  bool operator==(const Placed&) const = default;
};

/// Share that a job uses of a link or a part that no node has to itself.
struct SharedUse {
  std::uint32_t resource = 0;
  double share = 0;
};

/// Jobs that meet: on a node, or on what they use together when that is too little for all of them.
struct Meeting {
  std::vector<std::size_t> jobs; // positions, ascending
  bool scarce = false;           // also on what is too little for them
  bool operator==(const Meeting&) const = default;
};

/// Every job is in one of them. `uses` is parallel to `jobs`, or empty.
std::vector<Meeting> meetings(std::span<const Placed> jobs,
                              std::span<const std::vector<SharedUse>> uses, int nodes);

} // namespace foretrain::models::fleet
