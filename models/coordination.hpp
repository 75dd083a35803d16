// How ranks agree on which gradients are ready everywhere.
//
// Horovod (Sergeev and Del Balso, 2018; horovod/common/operations.cc): one background thread per
// process wakes in a cycle, reports all gradients that became ready since the last one, and learns
// which are ready on every rank. One agreement serves all gradients of a cycle; before the response
// cache (0.17) rank 0 reads a message of each rank, with it the ranks add a vector of bits. Where
// an agreement takes longer than a cycle, the next one follows at once.
#pragma once

#include "models/framework.hpp"

namespace foretrain::models {

class Coordination {
public:
  Coordination(const Framework& framework, int ranks);

  /// Core time and messages of one agreement.
  Seconds cost() const { return cost_; }
  /// From `ready`, on a clock that is at zero when the step begins, until the ranks have agreed.
  /// `phase`: where in its cycle the thread is when the step begins, 0 to 1.
  Seconds wait(Seconds ready, double phase) const;

private:
  Seconds cost_;
  Seconds period_; // 0: no cycle
};

} // namespace foretrain::models
