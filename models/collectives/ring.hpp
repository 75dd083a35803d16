#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

bool ring_applies(const sim::Communicator& comm);
Pattern ring_pattern(const sim::Communicator& comm);
sim::TaskId ring_chunks(const sim::Communicator& comm, const ChunkSchedule& schedule);

} // namespace foretrain::models
