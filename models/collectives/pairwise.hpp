#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

bool pairwise_applies(const sim::Communicator& comm);
void pairwise_all_to_all(const sim::Communicator& comm, Pattern& pattern);
void pairwise_send_receive(const sim::Communicator& comm, Pattern& pattern);

} // namespace foretrain::models
