// Which adapters GPUs send through between nodes.
#include "platforms/machine.hpp"

#include <algorithm>
#include <stdexcept>

namespace foretrain::platforms {

// What an adapter carries for a GPU: the least of its rate and the way between them.
BytesPerSecond Machine::rate_to(int gpu, int nic) const
{
  BytesPerSecond least = spec_.nics[static_cast<std::size_t>(nic)].rate;
  for (const Leg& leg : graph_.route(graph_.gpu(gpu), graph_.nic(nic)))
    least = std::min(least, graph_.joins()[static_cast<std::size_t>(leg.join)].capacity);
  return least;
}

// Those that carry most for a GPU, of them the nearest.
std::vector<int> Machine::local_nics(int gpu) const
{
  BytesPerSecond most{};
  for (const int nic : network_.nics)
    most = std::max(most, rate_to(gpu, nic));
  std::vector<int> local;
  const auto class_of = [&](int nic) { return graph_.classify(graph_.gpu(gpu), graph_.nic(nic)); };
  for (const int nic : network_.nics) {
    if (rate_to(gpu, nic) * kSameLink < most)
      continue;
    if (!local.empty() && class_of(nic) < class_of(local.front()))
      local.clear();
    if (local.empty() || class_of(nic) == class_of(local.front()))
      local.push_back(nic);
  }
  return local;
}

void Machine::choose_nics()
{
  nics_of_.clear();
  std::vector<int> sharing(spec_.node.nics.size(), 0); // GPUs to which an adapter is local
  for (int gpu = 0; gpu < graph_.gpus(); ++gpu)
    for (const int nic : local_nics(gpu))
      ++sharing[static_cast<std::size_t>(nic)];
  std::vector<int> users(spec_.node.nics.size(), 0);
  for (int gpu = 0; gpu < graph_.gpus(); ++gpu) {
    std::vector<int> local = local_nics(gpu);
    std::ranges::stable_sort(local, {}, [&](int n) { return users[static_cast<std::size_t>(n)]; });
    if (!local.empty()) {
      const int gpus = sharing[static_cast<std::size_t>(local.front())];
      local.resize((local.size() + static_cast<std::size_t>(gpus) - 1) /
                   static_cast<std::size_t>(gpus));
    }
    for (const int nic : local)
      ++users[static_cast<std::size_t>(nic)];
    nics_of_.push_back(std::move(local));
  }
}

sim::Hop Machine::over_adapters(GpuPlace a, GpuPlace b, const HopOver& hop_over) const
{
  const std::vector<int>& from = nics_of(a.local);
  const std::vector<int>& to = nics_of(b.local);
  if (from.empty())
    throw std::logic_error("a hop between nodes without a network");
  const std::size_t ways = std::max(from.size(), to.size());
  sim::Hop whole = hop_over(from.front(), to.front());
  for (std::size_t i = 1; i < ways; ++i) {
    const sim::Hop other = hop_over(from[i % from.size()], to[i % to.size()]);
    whole.uses.insert(whole.uses.end(), other.uses.begin(), other.uses.end());
    whole.latency = std::max(whole.latency, other.latency);
    if (whole.cap != sim::MaxMin::kNoCap)
      whole.cap += other.cap;
  }
  for (sim::Use& use : whole.uses)
    use.weight /= static_cast<double>(ways);
  return whole;
}

} // namespace foretrain::platforms
