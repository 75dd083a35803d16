#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

bool pairwise_applies(const sim::Communicator& comm);
Pattern pairwise_all_to_all(const sim::Communicator& comm);
Pattern pairwise_send_receive(const sim::Communicator& comm);

} // namespace foretrain::models
