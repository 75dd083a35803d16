// Point-to-point patterns: all-to-all (every rank keeps one n-th and sends the others theirs) and a
// shift to the next rank.
#include "models/collectives/pairwise.hpp"

#include <cmath>

namespace foretrain::models {

bool pairwise_applies(const sim::Communicator& comm)
{
  return comm.connect && comm.ranks <= kMostPairwise;
}

bool neighbours_apply(const sim::Communicator& comm)
{
  return comm.connect != nullptr;
}

void pairwise_all_to_all(const sim::Communicator& comm, Pattern& pattern)
{
  for (int a = 0; a < comm.ranks; ++a)
    for (int b = 0; b < comm.ranks; ++b)
      if (a != b)
        pattern.loads.add(comm.connect(a, b, sim::Communicator::kNearest), 1.0 / comm.ranks);
  pattern.own = 1.0 / comm.ranks;
  pattern.to_itself = true;
  // All pairs go at once: the farthest one counts.
  pattern.steps.add(comm.connect(0, comm.ranks - 1, sim::Communicator::kNearest), 1);
  pattern.steps.doublings = std::log2(comm.ranks);
}

void pairwise_send_receive(const sim::Communicator& comm, Pattern& pattern)
{
  for (int a = 0; a < comm.ranks; ++a)
    pattern.loads.add(comm.connect(a, (a + 1) % comm.ranks, sim::Communicator::kNearest), 1);
  pattern.steps.add(comm.connect(0, comm.ranks - 1, sim::Communicator::kNearest), 1);
}

} // namespace foretrain::models
