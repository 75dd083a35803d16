// What exchanges of jobs were found to take on a machine, lest they are simulated again.
#pragma once

#include "models/collectives/collective.hpp"
#include "models/plans/plan_groups.hpp"

#include <map>
#include <tuple>
#include <utility>

namespace foretrain::experiments {

/// Of one machine, its network and libraries.
struct KnownExchanges {
  /// Stages of which this is the same lie alike among their nodes: where the first GPU is, and how
  /// many there are.
  using StagePlace = std::pair<int, int>;
  /// The same exchange on the same GPUs: job, fidelity, group, place, operation, size.
  using Group = std::tuple<std::size_t, models::Fidelity, models::GroupLayout, StagePlace,
                           models::Operation, double>;
  /// Job, fidelity, from, to, GPUs of a stage, size.
  using Transfer = std::tuple<std::size_t, models::Fidelity, int, int, int, double>;

  std::map<Group, Seconds> groups;
  std::map<Transfer, Seconds> transfers;
};

} // namespace foretrain::experiments
