#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

bool ring_applies(const sim::Communicator& comm);
void ring_all_reduce(const sim::Communicator& comm, Pattern& pattern);
sim::TaskId ring_all_reduce_chunks(const sim::Communicator& comm, const ChunkSchedule& schedule);
void ring_one_round(const sim::Communicator& comm, Pattern& pattern);
void ring_broadcast(const sim::Communicator& comm, Pattern& pattern);

} // namespace foretrain::models
