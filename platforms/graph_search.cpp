#include "platforms/graph_search.hpp"

#include "platforms/channel_search.hpp"
#include "platforms/mesh_graph.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <span>

#include <fmt/format.h>

namespace foretrain::platforms {

namespace {

// Bandwidths tried for a channel, by version, GPU and whether adapters take part (search.cc).
constexpr double kSpeeds27[] = {42, 30, 24, 21, 18, 15,  12,  10,  9,
                                7,  6,  5,  4,  3,  2.4, 1.2, .24, .12};
constexpr double kInside[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr double kBetween[] = {48, 30, 28, 24, 20, 18,  15,  12,  10, 9,
                               7,  6,  5,  4,  3,  2.4, 1.2, .24, .12};
constexpr double kInside90[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr double kBetween90[] = {48, 45, 42, 40, 30,  24,  22,  20, 17.5,
                                 15, 12, 6,  3,  2.4, 1.2, .24, .12};
constexpr double kInside100[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr double kBetween100[] = {96,   48, 45.1, 42, 40, 30,  24,  22,  20,
                                  17.5, 15, 12,   6,  3,  2.4, 1.2, .24, .12};

std::span<const double> speeds_of(const SearchSystem& system, const SearchRules& rules)
{
  const bool inside = system.nets() == 0;
  if (rules.version < 2800)
    return kSpeeds27;
  if (system.compute_capability() >= 10 && rules.version >= 22500)
    return inside ? std::span<const double>(kInside100) : kBetween100;
  if (system.compute_capability() >= 9)
    return inside ? std::span<const double>(kInside90) : kBetween90;
  return inside ? std::span<const double>(kInside) : kBetween;
}

constexpr long kStepsInAll = 1L << 19;
constexpr long kSteps = 1L << 14;
constexpr long kStepsSame = 1L << 8; // when all channels are alike

// What the library does when it finds nothing: the order of the devices, at a crawl.
void fall_back(CollectiveGraph& graph, const std::vector<int>& gpus, const std::vector<int>& nics)
{
  if (graph.channels > 0)
    return;
  graph.channels = 1;
  graph.bandwidth_inside = graph.bandwidth_between = 0.1;
  graph.reach_inside = graph.reach_between = PathReach::sys;
  graph.orders = {gpus};
  graph.nics = {nics.empty() ? std::array<int, 2>{-1, -1}
                             : std::array<int, 2>{nics.front(), nics.front()}};
}

// A channel of more than 25 GB/s takes two (ncclTopoDupChannels).
void double_channels(Draft& graph, double capability)
{
  if (graph.channels == 0 || graph.bandwidth_inside < 25 ||
      graph.pattern == GraphPattern::in_switch ||
      (capability > 8 && graph.bandwidth_inside < 50 && graph.channels > 4))
    return;
  const int before = graph.channels;
  graph.channels = std::min(2 * before, graph.most_channels);
  const int shared = (graph.channels + before - 1) / before;
  graph.bandwidth_inside /= shared;
  graph.bandwidth_between /= shared;
  for (auto c = static_cast<std::size_t>(before); c < static_cast<std::size_t>(graph.channels);
       ++c) {
    graph.orders[c] = graph.orders[c - static_cast<std::size_t>(before)];
    graph.nics[c] = graph.nics[c - static_cast<std::size_t>(before)];
  }
}

// The first of them that is no more.
std::size_t first_up_to(std::span<const double> speeds, double most)
{
  std::size_t speed = 0;
  while (speed < speeds.size() - 1 && speeds[speed] > most)
    ++speed;
  return speed;
}

} // namespace

// One loop, step by step that of ncclTopoCompute. NOLINTNEXTLINE(readability-function-size)
Draft ChannelSearch::run(Draft wanted)
{
  const int n = system_.gpus();
  const auto speeds = speeds_of(system_, rules_);
  const bool switched = wanted.pattern == GraphPattern::in_switch;
  wanted.reach_inside = n == 1 ? PathReach::local : PathReach::nvlink;
  wanted.reach_between = PathReach::pix;
  wanted.same_channels = !switched;
  if (switched) {
    if (!system_.has_switch() || system_.compute_capability() < 9 || rules_.version < 21700 ||
        n < 3)
      return wanted;
    wanted.most_channels = std::min(n, kMostChannels);
    if (system_.nets() == 0)
      wanted.least_channels = wanted.most_channels;
  }
  if (n == 1 && wanted.pattern != GraphPattern::ring)
    wanted.pattern = GraphPattern::tree;
  wanted.orders.assign(kMostChannels, std::vector<int>(static_cast<std::size_t>(n)));
  wanted.nics.assign(kMostChannels, {-1, -1});
  used_.assign(static_cast<std::size_t>(n), 0);
  sorted_.assign(static_cast<std::size_t>(n * (system_.nets() + 1)), {});
  best_ = draft_ = wanted;

  double total = system_.most_in_all();
  if (n > 1 && wanted.pattern != GraphPattern::ring)
    total *= static_cast<double>(n) / (n - 1);
  std::size_t speed = 0;
  const std::size_t last = speeds.size() - 1;
  while (speed < last && (speeds[speed] > system_.most_per_channel() ||
                          speeds[speed] * draft_.least_channels > total))
    ++speed;
  long left = kStepsInAll;
  const bool same_allowed = wanted.same_channels;
  const bool may_cross = rules_.alternates() && system_.nets() > 1 && !switched &&
                         wanted.pattern != GraphPattern::tree;
  long time = 0;
  const auto at_speed = [&](std::size_t s) {
    draft_.bandwidth_inside = draft_.bandwidth_between = speeds[s];
  };
  const auto attempt = [&] {
    time = draft_.same_channels ? kStepsSame : kSteps;
    draft_.channels = 0;
    left -= time;
    search(time);
  };
  at_speed(speed);
  for (;;) {
    attempt();
    if (time == kSearchDone || best_.channels * best_.bandwidth_between >= system_.most_in_all())
      break;
    if (draft_.same_channels && !(system_.amd() && draft_.reach_inside == PathReach::sys)) {
      draft_.same_channels = false;
      continue;
    }
    draft_.same_channels = same_allowed;
    left = time != kSearchDone ? left + time : kStepsInAll;
    if (left < 0 && best_.channels > 0)
      break;
    if (system_.compute_capability() >= 9 && draft_.pattern == GraphPattern::balanced_tree) {
      draft_.pattern = GraphPattern::tree;
      continue;
    }
    draft_.pattern = wanted.pattern;
    const PathReach far = system_.nets() > 0 ? draft_.reach_between : PathReach::sys;
    if (farther(draft_.reach_inside, far, false,
                [&] { return best_.channels == 0 || draft_.reach_inside < best_.reach_inside; }))
      continue;
    draft_.reach_inside = wanted.reach_inside;
    if (system_.nets() > 0 && farther(draft_.reach_between, PathReach::sys, true, [&] {
          return best_.channels == 0 || draft_.reach_between < best_.reach_between ||
                 draft_.reach_between < PathReach::pxn;
        }))
      continue;
    draft_.reach_between = PathReach::pix;
    if (may_cross && !draft_.crosses_nics) {
      draft_.crosses_nics = true;
      continue;
    }
    draft_.crosses_nics = false;
    if (speed < last &&
        (best_.channels == 0 || speeds[speed + 1] / best_.bandwidth_between > .49)) {
      at_speed(++speed);
      continue;
    }
    break;
  }
  const double capability = system_.compute_capability();
  if (rules_.alternates())
    double_channels(best_, capability);
  raise(wanted, speeds);
  if (!rules_.alternates())
    double_channels(best_, capability);
  best_.orders.resize(static_cast<std::size_t>(best_.channels));
  best_.nics.resize(static_cast<std::size_t>(best_.channels));
  return best_;
}

// The second pass of ncclTopoCompute.
void ChannelSearch::raise(const Draft& wanted, std::span<const double> speeds)
{
  const bool ring = wanted.pattern == GraphPattern::ring;
  const bool heads = wanted.pattern == GraphPattern::in_switch && rules_.alternates();
  if (best_.channels == 0 || (ring && !rules_.alternates()))
    return;
  std::size_t speed = first_up_to(speeds, best_.bandwidth_between);
  draft_ = best_;
  draft_.least_channels = best_.channels;
  draft_.bandwidth_inside = draft_.bandwidth_between = speeds[speed];
  if (heads)
    draft_.most_channels = best_.channels;
  const auto may_be_better = [&] {
    if (heads)
      return draft_.bandwidth_between == best_.bandwidth_between &&
             draft_.bandwidth_between < draft_.bandwidth_inside * 2;
    return ring || (draft_.bandwidth_inside == best_.bandwidth_inside &&
                    draft_.bandwidth_inside < draft_.bandwidth_between * 2);
  };
  long time = kSearchDone;
  while (time != 0 && speed > 0 && may_be_better()) {
    --speed;
    if (!heads)
      draft_.bandwidth_inside = speeds[speed];
    if (heads || ring)
      draft_.bandwidth_between = speeds[speed];
    time = draft_.same_channels ? kStepsSame : kSteps;
    draft_.channels = 0;
    search(time);
  }
}

namespace {

AdapterOwners owners_in(const SearchSystem& system, const SearchRules& rules)
{
  AdapterOwners owners;
  for (int n = 0; rules.proxies() && n < system.nets(); ++n)
    if (const int owner = system.gpu_of_net(n); owner >= 0)
      owners.gpu_of.emplace_back(system.nic_number(n), system.gpu_number(owner));
  return owners;
}

CollectiveGraphs search(SearchSystem& system, const SearchRules& rules, bool in_switch)
{
  if (rules.tables && system.mesh_bandwidth() > 0)
    return {mesh_rings(system), mesh_trees(system), {}, owners_in(system, rules)};
  const auto find = [&](GraphPattern pattern, int least, int most) {
    Draft wanted;
    wanted.pattern = pattern;
    wanted.least_channels = least;
    wanted.most_channels = most;
    return ChannelSearch(system, rules).run(wanted);
  };
  CollectiveGraphs graphs;
  graphs.owners = owners_in(system, rules);
  graphs.ring = find(GraphPattern::ring, 1, kMostChannels);
  const int rings = std::max(1, graphs.ring.channels);
  graphs.tree = find(rules.version < 2800 ? GraphPattern::split_tree : GraphPattern::balanced_tree,
                     rings, rings);
  if (in_switch)
    graphs.in_switch = find(GraphPattern::in_switch, 1, kMostChannels);
  return graphs;
}

// Puts the GPUs of one set into the places of those of another.
void rename(CollectiveGraphs& graphs, const std::vector<int>& from, const std::vector<int>& to)
{
  const auto renamed = [&](int gpu) {
    return to[static_cast<std::size_t>(std::find(from.begin(), from.end(), gpu) - from.begin())];
  };
  for (CollectiveGraph* graph : {&graphs.ring, &graphs.tree, &graphs.in_switch})
    for (auto& order : graph->orders)
      for (int& gpu : order)
        gpu = renamed(gpu);
  for (auto& [nic, owner] : graphs.owners.gpu_of)
    owner = renamed(owner);
}

struct FoundGraphs {
  std::vector<int> gpus;
  CollectiveGraphs graphs;
};

} // namespace

int AdapterOwners::of(int nic) const
{
  for (const auto& [adapter, gpu] : gpu_of)
    if (adapter == nic)
      return gpu;
  return -1;
}

CollectiveGraphs search_graphs(const PlatformSpec& spec, const NodeGraph& node, const Stack& stack,
                               const std::vector<int>& gpus, const std::vector<int>& nics,
                               const SearchRules& rules)
{
  // A search takes up to a tenth of a second, its paths a millisecond; it depends on nothing but
  // what is the key here.
  static std::mutex guard;
  static std::map<std::string, FoundGraphs> known;
  SearchSystem system(spec, node, stack, gpus, nics, rules);
  const bool in_switch = spec.node.nvlink.in_network_reduction;
  const std::string key =
      fmt::format("{}/{}/{}/{}", rules.version, rules.tables, in_switch, system.fingerprint());
  const std::lock_guard lock(guard);
  const auto [entry, added] = known.try_emplace(key);
  if (added) {
    system.find_paths(rules);
    entry->second = {gpus, search(system, rules, in_switch)};
  }
  CollectiveGraphs graphs = entry->second.graphs;
  rename(graphs, entry->second.gpus, gpus);
  fall_back(graphs.ring, gpus, nics);
  fall_back(graphs.tree, gpus, nics);
  return graphs;
}

} // namespace foretrain::platforms
