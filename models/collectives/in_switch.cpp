// The switch adds: every GPU has its part of the buffer reduced by the switch and multicasts the
// sum. Serving the others' reads takes the whole buffer once, the sums of the own part another
// n-th, in both directions (NVLink SHARP, "NVLS"; Klenk et al., "An In-Network Architecture for
// Accelerating Shared-Memory Multiprocessor Collectives", ISCA 2020).
#include "models/collectives/in_switch.hpp"

namespace foretrain::models {

bool in_switch_applies(const sim::Communicator& comm)
{
  return comm.nodes == 1 && comm.in_network_reduction && comm.ranks > 2;
}

Pattern in_switch_all_reduce(const sim::Communicator& comm)
{
  Pattern pattern;
  pattern.family = Family::in_switch;
  const double n = comm.ranks;
  // On the ring's hops every GPU's send and receive side appears once, as here.
  for (const sim::Channel& channel : comm.channels)
    for (const sim::Hop& hop : channel.hops)
      pattern.loads.push_back({hop, channel.share * (1 + 1 / n) / comm.in_network_efficiency});
  const sim::Hop& hop = comm.channels.front().hops.front();
  pattern.steps.add(hop, 2); // to the switch and back, twice
  return pattern;
}

} // namespace foretrain::models
