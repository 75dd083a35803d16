#include "platforms/channel_search.hpp"

#include <algorithm>
#include <tuple>

namespace foretrain::platforms {

namespace {

bool is_tree(GraphPattern p)
{
  return p == GraphPattern::tree || p == GraphPattern::split_tree ||
         p == GraphPattern::balanced_tree;
}

} // namespace

// Takes a path's bandwidth if there is enough and it is near enough (ncclTopoFollowPath).
bool ChannelSearch::follow(int from, int to, double times)
{
  if (from < 0 || from == to)
    return true;
  const auto& path = system_.path(from, to);
  using Kind = SearchSystem::Kind;
  const auto is_local = [&](int d) {
    return system_.device(d).kind == Kind::gpu || system_.device(d).kind == Kind::switch_fabric;
  };
  const bool inside = is_local(from) && is_local(to);
  const PathReach reach = inside ? draft_.reach_inside : draft_.reach_between;
  if (!path.exists())
    return false;
  if (times > 0 &&
      (path.reach > reach || (is_tree(draft_.pattern) && system_.path(to, from).reach > reach)))
    return false;
  const double bandwidth = times * (inside ? draft_.bandwidth_inside : draft_.bandwidth_between);
  const std::size_t taken = system_.take(path, from, bandwidth, path.links.size());
  if (taken < path.links.size()) {
    system_.take(path, from, -bandwidth, taken);
    return false;
  }
  draft_.hops += times * static_cast<double>(path.links.size());
  return true;
}

int ChannelSearch::replayed(int step) const
{
  const int number = draft_.orders[static_cast<std::size_t>(draft_.channels - 1)]
                                  [static_cast<std::size_t>(step + 1)];
  for (int g = 0; g < system_.gpus(); ++g)
    if (system_.gpu_number(g) == number)
      return g;
  return 0;
}

void ChannelSearch::search(long& time)
{
  const int last = system_.gpus() - 1;
  const bool ring = draft_.pattern == GraphPattern::ring;
  if (system_.nets() > 0)
    from_net(ring ? last : draft_.pattern == GraphPattern::split_tree ? 1 : 0, -1, time);
  else
    from_gpu(-1, ring ? last : -1, time);
}

void ChannelSearch::from_gpu(int back_to_net, int back_to_first, long& time)
{
  if (draft_.pattern == GraphPattern::in_switch) {
    try_gpu(0, back_to_net, back_to_first, Order::free, time, -1, draft_.channels);
    return;
  }
  if (draft_.channels == 0)
    try_gpu(0, back_to_net, back_to_first, Order::pcie, time, -1, 0);
  else
    try_gpu(0, back_to_net, back_to_first, Order::replay, time, -1, replayed(-1));
  if (!draft_.same_channels || draft_.channels == 0)
    for (int g = 0; g < system_.gpus(); ++g)
      try_gpu(0, back_to_net, back_to_first, Order::free, time, -1, g);
}

void ChannelSearch::from_net(int back_to_net, int back_to_first, long& time)
{
  const double bandwidth = draft_.bandwidth_between;
  const auto nets = system_.nets_of(-1, draft_.reach_between);
  for (std::size_t i = 0; i < nets.size(); ++i) {
    if (draft_.pattern == GraphPattern::in_switch && i > 0)
      continue;
    const int n = nets[(static_cast<std::size_t>(draft_.channels) + i) % nets.size()];
    if (system_.net_left(n) < static_cast<int>(bandwidth) || !may_enter(system_.nic_number(n)))
      continue;
    nic()[0] = system_.nic_number(n);
    system_.net_left(n) -= static_cast<int>(bandwidth);
    const int device = system_.net(n);
    if (draft_.pattern == GraphPattern::in_switch) {
      const int owner = system_.gpu_of_net(n);
      bool free = owner >= 0 && draft_.channels < static_cast<int>(nets.size());
      for (int c = 0; c < draft_.channels && free; ++c)
        free = draft_.orders[static_cast<std::size_t>(c)].front() != system_.gpu_number(owner);
      if (free)
        try_gpu(0, back_to_net, back_to_first, Order::free, time, device, owner);
    } else if (draft_.channels > 0 && draft_.same_channels) {
      try_gpu(0, back_to_net, back_to_first, Order::replay, time, device, replayed(-1));
    } else {
      if (draft_.channels == 0 && !system_.has_switch()) {
        long little = 1L << 10; // the order of the PCIe tree, for reference
        try_gpu(0, back_to_net, back_to_first, Order::pcie, little, device, 0);
        if (little == kSearchDone)
          time = kSearchDone;
      }
      double widest = 0;
      std::size_t fewest = 0;
      for (int g = 0; g < system_.gpus(); ++g) {
        const auto& path = system_.path(device, system_.gpu(g));
        if (path.bandwidth > widest || (path.bandwidth == widest && path.links.size() < fewest)) {
          widest = path.bandwidth;
          fewest = path.links.size();
        }
      }
      for (int k = 0; k < system_.gpus() && widest >= bandwidth; ++k) {
        const int g = (draft_.channels + k) % system_.gpus();
        const auto& path = system_.path(device, system_.gpu(g));
        if (path.bandwidth == widest && path.links.size() == fewest)
          try_gpu(0, back_to_net, back_to_first, Order::free, time, device, g);
      }
    }
    system_.net_left(n) += static_cast<int>(bandwidth);
  }
}

void ChannelSearch::try_gpu(int step, int back_to_net, int back_to_first, Order forced, long& time,
                            int from, int g)
{
  const int to = system_.gpu(g);
  if (!follow(from, to, 1))
    return;
  const std::uint64_t flag = std::uint64_t{1} << draft_.channels;
  used_[static_cast<std::size_t>(g)] ^= flag;
  go_on(g, step, back_to_net, back_to_first, forced, time);
  used_[static_cast<std::size_t>(g)] ^= flag;
  follow(from, to, -1);
}

void ChannelSearch::finish_channel(long& time)
{
  ++draft_.channels;
  if (better()) {
    best_ = draft_;
    if (draft_.channels == draft_.most_channels)
      time = kSearchDone;
  }
  if (draft_.channels < draft_.most_channels)
    search(time);
  --draft_.channels;
}

// ncclTopoSearchRecGpu.
void ChannelSearch::go_on(int g, int step, int back_to_net, int back_to_first, Order forced,
                          long& time)
{
  if (time <= 0)
    return;
  --time;
  const int n = system_.gpus();
  if (step == n) {
    finish_channel(time);
    return;
  }
  order()[static_cast<std::size_t>(step)] = system_.gpu_number(g);
  if (step == back_to_net) {
    leave(g, step, back_to_first, forced, time);
  } else if (draft_.pattern == GraphPattern::in_switch) {
    switch_channel(g, time);
  } else if (step < n - 1) {
    std::vector<int> nexts;
    if (forced == Order::pcie)
      nexts = {step + 1};
    else if (forced == Order::replay)
      nexts = {replayed(step)};
    else
      nexts = next_gpus(g, back_to_net == -1 ? 0 : back_to_net == step + 1 ? 1 : -1);
    for (const int next : nexts)
      try_gpu(step + 1, back_to_net, back_to_first, forced, time, system_.gpu(g), next);
  } else if (step == back_to_first) {
    int first = 0;
    while (system_.gpu_number(first) != order().front())
      ++first;
    if (follow(system_.gpu(g), system_.gpu(first), 1)) {
      go_on(first, step + 1, back_to_net, -1, forced, time);
      follow(system_.gpu(g), system_.gpu(first), -1);
    }
  } else {
    go_on(g, n, -1, -1, forced, time);
  }
}

// Of two rings that cross, the second one comes in where the first one leaves ...
bool ChannelSearch::may_enter(int nic) const
{
  return !draft_.crosses_nics || draft_.pattern != GraphPattern::ring || draft_.channels % 2 == 0 ||
         nic == before().back();
}

// ... and leaves where that one came in. Without crossing a channel stays on its rail, and a chain
// goes up and down by one adapter.
bool ChannelSearch::may_leave(int nic) const
{
  if (!draft_.crosses_nics || draft_.pattern == GraphPattern::tree)
    return nic == draft_.nics[static_cast<std::size_t>(draft_.channels)].front();
  return draft_.pattern != GraphPattern::ring || draft_.channels % 2 == 0 ||
         nic == before().front();
}

// Out of the node.
void ChannelSearch::leave(int g, int step, int back_to_first, Order forced, long& time)
{
  for (const int n : system_.nets_of(g, draft_.reach_between)) {
    if (!may_leave(system_.nic_number(n)))
      continue;
    const bool balanced = draft_.pattern == GraphPattern::balanced_tree;
    int next_back = -1;
    if (balanced && step == 0)
      next_back = 1; // the first two GPUs carry half of it each
    else if (balanced && system_.nic_number(n) != nic()[1])
      continue;
    const double times = balanced ? 0.5 : 1;
    if (!follow(system_.gpu(g), system_.net(n), times))
      continue;
    nic()[1] = system_.nic_number(n);
    const int device = system_.net(n);
    go_on(g, step, next_back, back_to_first, forced, time);
    follow(system_.gpu(g), device, -times);
  }
}

// Every GPU is read by the switch and written by it, the channel's own twice.
void ChannelSearch::switch_channel(int g, long& time)
{
  const int n = system_.gpus();
  const int fabric = system_.switch_device();
  const auto times = [g](int gpu) { return gpu == g ? 2.0 : 1.0; };
  int down = 0;
  while (down < n && follow(fabric, system_.gpu(down), times(down)))
    ++down;
  int up = 0;
  if (down == n)
    while (up < n && follow(system_.gpu(up), fabric, times(up)))
      ++up;
  if (up == n) {
    std::size_t step = 1;
    for (int other = 0; other < n; ++other)
      if (other != g)
        order()[step++] = system_.gpu_number(other);
    go_on(g, n, -1, -1, Order::free, time);
  }
  while (up > 0) {
    --up;
    follow(system_.gpu(up), fabric, -times(up));
  }
  while (down > 0) {
    --down;
    follow(fabric, system_.gpu(down), -times(down));
  }
}

// ncclTopoCompareGraphs.
bool ChannelSearch::better() const
{
  if (draft_.channels < draft_.least_channels)
    return false;
  if (draft_.pattern == GraphPattern::in_switch)
    return (draft_.channels > best_.channels && draft_.channels <= system_.gpus()) ||
           draft_.channels * draft_.bandwidth_between > best_.channels * best_.bandwidth_between;
  const double here = draft_.channels * draft_.bandwidth_inside;
  const double there = best_.channels * best_.bandwidth_inside;
  return here > there || (here == there && draft_.pattern == best_.pattern &&
                          draft_.crosses_nics == best_.crosses_nics && draft_.hops < best_.hops);
}

// The other GPUs of the node, the best to go to first; `net`: its index, or -1.
const std::vector<ChannelSearch::Next>& ChannelSearch::sorted_from(int g, int net)
{
  const int n = system_.gpus();
  auto& list = sorted_[static_cast<std::size_t>((net + 1) * n + g)];
  if (!list.empty() || n < 2)
    return list;
  const auto between_key = [&](int other) {
    if (net < 0)
      return std::tuple(0.0, 0.0, std::size_t{0});
    const auto& out = system_.path(system_.net(net), system_.gpu(other));
    return std::tuple(-out.bandwidth, -system_.pcie_bandwidth_of(other), out.links.size());
  };
  for (int i = 1; i < n; ++i) {
    const int other = (g + i) % n;
    const auto& path = system_.path(system_.gpu(g), system_.gpu(other));
    if (path.exists())
      list.push_back({other, path.bandwidth, path.links.size()});
  }
  std::stable_sort(list.begin(), list.end(), [&](const Next& a, const Next& b) {
    return std::tuple(between_key(a.gpu), -a.bandwidth, a.hops) <
           std::tuple(between_key(b.gpu), -b.bandwidth, b.hops);
  });
  return list;
}

// The GPUs to try next, the best first (ncclTopoSearchNextGpuSort).
std::vector<int> ChannelSearch::next_gpus(int g, int sort_net)
{
  const int n = system_.gpus();
  int net = -1;
  if (sort_net != 0)
    for (int k = 0; k < system_.nets(); ++k)
      if (system_.nic_number(k) == nic()[0])
        net = k;
  std::vector<int> nexts;
  const Next* first = nullptr;
  bool alike = true;
  for (const Next& it : sorted_from(g, net)) {
    if (((used_[static_cast<std::size_t>(it.gpu)] >> draft_.channels) & 1) != 0)
      continue;
    if (first == nullptr)
      first = &it;
    alike = alike && it.bandwidth == first->bandwidth && it.hops == first->hops;
    nexts.push_back(it.gpu);
  }
  if (sort_net == -1 && alike) // away from the adapter first
    std::reverse(nexts.begin(), nexts.end());
  if (!system_.has_switch())
    return nexts;
  // Through a switch all are as near: neighbours only.
  const int before = (g - 1 + n) % n;
  const int after = (g + 1) % n;
  std::vector<int> wanted{after};
  if (before != after && draft_.pattern == GraphPattern::ring)
    wanted = {after, before};
  else if (before != after && draft_.pattern != GraphPattern::tree)
    wanted = {before, after};
  std::vector<int> neighbours;
  for (const int it : wanted)
    if (std::find(nexts.begin(), nexts.end(), it) != nexts.end())
      neighbours.insert(neighbours.begin(), it);
  return neighbours;
}

// The next reach that any path has, for as long as another one may be tried; false when there is
// none up to `last`.
bool ChannelSearch::farther(PathReach& reach, PathReach last, bool to_net,
                            const std::function<bool()>& may_try) const
{
  while (reach < last && may_try()) {
    reach = static_cast<PathReach>(static_cast<int>(reach) + 1);
    if (system_.has_reach(reach, to_net))
      return true;
  }
  return false;
}

} // namespace foretrain::platforms
