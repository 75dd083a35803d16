#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

bool ring_applies(const sim::Communicator& comm);
Pattern ring_all_reduce(const sim::Communicator& comm);
sim::TaskId ring_all_reduce_chunks(const sim::Communicator& comm, const ChunkSchedule& schedule);
Pattern ring_one_round(const sim::Communicator& comm);
Pattern ring_broadcast(const sim::Communicator& comm);

} // namespace foretrain::models
