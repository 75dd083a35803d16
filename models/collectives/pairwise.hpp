#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

/// Of ranks that each send to all others: more hops would take seconds to add up.
inline constexpr int kMostPairwise = 1024;

bool pairwise_applies(const sim::Communicator& comm);
bool neighbours_apply(const sim::Communicator& comm);
void pairwise_all_to_all(const sim::Communicator& comm, Pattern& pattern);
void pairwise_send_receive(const sim::Communicator& comm, Pattern& pattern);

} // namespace foretrain::models
