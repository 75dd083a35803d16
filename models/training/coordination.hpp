// How ranks agree on which gradients are ready everywhere.
//
// Horovod (Sergeev and Del Balso, 2018; horovod/common/operations.cc): one background thread per
// process wakes in a cycle, reports all gradients that became ready since the last one, and learns
// which are ready on every rank. One agreement serves all gradients of a cycle; before the response
// cache (0.17) rank 0 reads a message of each rank, with it the ranks add a vector of bits. Where
// an agreement takes longer than a cycle, the next one follows at once.
#pragma once

#include "models/training/framework.hpp"

namespace foretrain::models {

struct Coordination {
  Coordination(const Framework& framework, int ranks);

  Seconds cost;   // core time and messages of one agreement
  Seconds period; // of the thread's cycle; 0: it asks at once
};

} // namespace foretrain::models
