#include "platforms/socket_threads.hpp"

#include <algorithm>

namespace foretrain::platforms {

namespace {

constexpr int kSearched = 2500; // the first version that searches for channels; before, netGetRings
                                // (src/transport/net.cu) gave every adapter one ring
constexpr int kByRanksThread = 2700; // the first version without threads for each channel

} // namespace

SocketThreads::SocketThreads(const Machine& machine, const SearchRules& rules)
    : machine_(machine), version_(rules.version)
{
}

int SocketThreads::own(int nic) const
{
  const int asked = machine_.stack().transport.connections;
  const int vendors =
      nic < 0 ? 0 : machine_.spec().nics[static_cast<std::size_t>(nic)].socket_threads;
  const int least = asked > 1 ? asked : version_ < kByRanksThread ? 1 : 0;
  return std::max(least, vendors);
}

void SocketThreads::raise(sim::Hop& hop, int alike, int sharing, int from, int to) const
{
  if (hop.cap <= 0)
    return;
  if (version_ < kSearched)
    alike = sharing = 1;
  const double threads = std::min(own(from), own(to));
  const double one = hop.cap / machine_.stack().transport.connections;
  hop.cap = threads > 0 ? one * threads * alike : one * alike / sharing;
}

} // namespace foretrain::platforms
