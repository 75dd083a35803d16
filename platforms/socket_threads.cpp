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

const Nic* SocketThreads::seen(int nic) const
{
  return nic >= 0 && machine_.stack().transport.shows_adapters()
             ? &machine_.spec().nics[static_cast<std::size_t>(nic)]
             : nullptr;
}

int SocketThreads::own(int nic) const
{
  if (const auto& asked = machine_.stack().transport.connections)
    return *asked;
  const Nic* const adapter = seen(nic);
  return std::max(version_ < kByRanksThread ? 1 : 0,
                  adapter != nullptr ? adapter->socket_threads : 0);
}

int SocketThreads::connections(int nic) const
{
  if (const auto& asked = machine_.stack().transport.connections)
    return *asked;
  const Nic* const adapter = seen(nic);
  return adapter != nullptr && adapter->socket_threads > 0
             ? adapter->socket_threads * adapter->sockets_per_thread
             : 1;
}

void SocketThreads::raise(sim::Hop& hop, int alike, int sharing, int from, int to) const
{
  if (hop.cap <= 0)
    return;
  if (version_ < kSearched)
    alike = sharing = 1;
  const int threads = std::min(own(from), own(to));
  hop.cap = machine_.socket_cap(threads > 0 ? threads * alike : 1.0 * alike / sharing,
                                1.0 * alike * std::min(connections(from), connections(to)));
}

} // namespace foretrain::platforms
