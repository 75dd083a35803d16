// A search for the channels of a graph, as src/graph/search.cc of NCCL has it: GPU by GPU, within a
// number of steps. For graph_search.cpp alone.
#pragma once

#include "platforms/collective_graph.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace foretrain::platforms {

inline constexpr int kMostChannels = 16; // MAXCHANNELS / 2: each is used twice
inline constexpr long kSearchDone = -1;  // instead of the steps that are left: no better one exists

/// A candidate while it is built.
struct Draft : CollectiveGraph {
  int least_channels = 1;
  int most_channels = kMostChannels;
  bool same_channels = true;
  bool crosses_nics = false; // a channel may leave by another adapter than it came in by
  double hops = 0;
};

/// The search for one graph; the system must outlive it.
class ChannelSearch {
public:
  ChannelSearch(SearchSystem& system, const SearchRules& rules) : system_(system), rules_(rules) {}

  /// The best graph of the wanted pattern and numbers of channels, over all bandwidths and reaches;
  /// of no channels where there is none (ncclTopoCompute).
  Draft run(Draft wanted);

private:
  /// Of what was found: more bandwidth inside the node for trees, between nodes for in-switch
  /// reduction, both for rings, over as many channels.
  void raise(const Draft& wanted, std::span<const double> speeds);
  enum class Order { free, pcie, replay };

  /// Looks on from the draft for what is better than `best_`; takes steps off `time`.
  void search(long& time);
  void from_net(int back_to_net, int back_to_first, long& time);
  void from_gpu(int back_to_net, int back_to_first, long& time);
  void try_gpu(int step, int back_to_net, int back_to_first, Order order, long& time, int from,
               int g);
  void go_on(int g, int step, int back_to_net, int back_to_first, Order order, long& time);
  void leave(int g, int step, int back_to_first, Order order, long& time);
  bool may_enter(int nic) const;
  bool may_leave(int nic) const;
  void switch_channel(int g, long& time);
  void finish_channel(long& time);
  bool better() const;
  bool follow(int from, int to, double times);
  struct Next {
    int gpu;
    double bandwidth;
    std::size_t hops;
  };
  const std::vector<Next>& sorted_from(int g, int net);
  std::vector<int> next_gpus(int g, int sort_net);
  bool farther(PathReach& reach, PathReach last, bool to_net,
               const std::function<bool()>& may_try) const;
  int replayed(int step) const;
  std::vector<int>& order() { return draft_.orders[static_cast<std::size_t>(draft_.channels)]; }
  std::array<int, 2>& nic() { return draft_.nics[static_cast<std::size_t>(draft_.channels)]; }

  /// Adapters of the channel before.
  const std::array<int, 2>& before() const
  {
    return draft_.nics[static_cast<std::size_t>(draft_.channels - 1)];
  }

  SearchSystem& system_;
  const SearchRules& rules_;
  Draft draft_, best_;
  std::vector<std::uint64_t> used_;       // by GPU: the channels that it is on
  std::vector<std::vector<Next>> sorted_; // by net and GPU, made when first asked for
};

} // namespace foretrain::platforms
