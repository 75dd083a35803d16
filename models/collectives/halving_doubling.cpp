// Recursive halving and doubling: ranks exchange half of what is left with partners at distance 1,
// 2, 4, ..., then gather in the opposite order: 2 log2(n) steps, 2 (n - 1) / n bytes per rank.
// Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH",
// 2005.
#include "models/collectives/halving_doubling.hpp"

#include <bit>

namespace foretrain::models {

bool halving_doubling_applies(const sim::Communicator& comm)
{
  return comm.connect && comm.ranks >= 4 &&
         std::has_single_bit(static_cast<unsigned>(comm.ranks)) &&
         comm.ranks <= 1024; // every step has a hop of its own per rank
}

void halving_doubling_all_reduce(const sim::Communicator& comm, Pattern& pattern)
{
  double bytes =
      1; // both directions of the algorithm: halving and doubling move a half each, twice
  for (int distance = 1; distance < comm.ranks; distance *= 2) {
    sim::Hop hop;
    for (int rank = 0; rank < comm.ranks; ++rank) {
      hop = comm.connect(rank, rank ^ distance, sim::Communicator::kNearest);
      pattern.loads.add(hop, bytes);
    }
    pattern.steps.add(hop, 2);
    bytes /= 2;
  }
}

} // namespace foretrain::models
