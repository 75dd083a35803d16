// Weighted max-min fair rates of flows over shared resources, re-solved incrementally.
//
// A flow f uses w[f][r] units of resource r per unit of its progress and has a priority p[f] and
// optionally a cap. Rates x satisfy
//
//   sum_f w[f][r] x[f] <= capacity[r]        for every resource r
//   x[f] <= cap[f]
//
// and every flow is stopped by its cap or by a saturated resource on which no other flow has a
// higher level x/p (progressive filling; Bertsekas and Gallager, "Data Networks", 1992, 6.5.2).
// A flow may follow another one: it goes no faster than its leader, which does not feel it.
// After a change only flows limited by touched resources are solved again; the optimality
// conditions are then checked on each touched resource and violators are added, until none is left.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

namespace foretrain::sim {

/// Share of a resource that one unit of a flow's progress takes (e.g. bytes, or core-seconds).
struct Use {
  int resource;
  double weight;
};

class MaxMin {
public:
  static constexpr double kNoCap = -1.0;
  static constexpr int kOwnCap = -1;    // limiting(): the flow's own cap
  static constexpr int kUnlimited = -2; // limiting(): nothing limits it
  static constexpr double kInfiniteRate = 1e300;

  explicit MaxMin(bool incremental = true) : incremental_(incremental) {}

  /// capacity >= 0 in units per second; 0 stops every flow on it.
  int add_resource(double capacity);
  void set_capacity(int resource, double capacity);
  double capacity(int resource) const { return capacity_[index(resource)]; }
  /// Sum of weight x rate over the flows on the resource, as of the last solve.
  double load(int resource) const;

  /// `uses` must outlive the flow, be sorted by resource and hold each resource once.
  int add_flow(std::span<const Use> uses, double cap, double priority);
  /// A flow that has no cap but the leader's rate, at the lower of the two priorities. A leader has
  /// one follower at most, and is removed after it.
  int add_follower(std::span<const Use> uses, int leader, double priority);
  void remove_flow(int flow);
  double rate(int flow) const { return flows_[index(flow)].rate; }
  /// The resource that stops the flow (or the one that it follows) from going faster, or kOwnCap.
  int limiting(int flow) const { return flows_[index(flow)].limiting; }

  /// Recomputes rates after changes and calls changed(flow, new_rate) for each flow whose rate is a
  /// different one now, or that is new.
  template <class Changed>
  void solve(const Changed& changed)
  {
    if (!solve_rates())
      return;
    for (std::size_t i = 0; i < active_.size(); ++i)
      commit(active_[i], new_rate_[i], changed);
  }

private:
  struct Entry {
    int flow;
    double weight;
  };
  struct Resource {
    std::vector<Entry> entries;
    double left = 0;   // capacity not yet given away while filling
    double demand = 0; // sum of weight x priority of flows not yet fixed
    unsigned version = 0;
    unsigned seen = 0;
    bool dirty = false;
  };
  struct Flow {
    std::span<const Use> uses;
    std::vector<int> position; // of this flow in the entries of uses[k].resource
    double rate = 0;
    double cap = kNoCap;
    double priority = 1;
    int limiting = kOwnCap;
    int leader = -1;
    int follower = -1;
    int slot = 0; // index in active_ while solving
    bool alive = false;
    bool solving = false;
    bool fixed = false;
    bool fresh = false;
  };
  struct Level {
    double level;
    int resource;
    unsigned version;
    bool operator<(const Level& o) const
    {
      return level != o.level ? level > o.level : resource > o.resource;
    }
  };

  struct Cap {
    double level;
    int flow;
    double rate;
    int limiting;
    bool operator<(const Cap& o) const { return std::tie(o.level, o.flow) < std::tie(level, flow); }
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  // Most resources of a large machine have a capacity and never a flow: pages of the rest are made
  // when first used.
  static constexpr std::size_t kPage = 64;
  using Page = std::array<Resource, kPage>;
  Resource& resource(int i)
  {
    std::unique_ptr<Page>& page = pages_[index(i) / kPage];
    if (!page)
      page = std::make_unique<Page>();
    return (*page)[index(i) % kPage];
  }
  Flow& flow(int i) { return flows_[index(i)]; }

  template <class Changed>
  void commit(int f, double rate, const Changed& changed)
  {
    Flow& it = flow(f);
    it.solving = false;
    const double difference = rate > it.rate ? rate - it.rate : it.rate - rate;
    if (!it.fresh && difference <= 1e-13 * rate)
      return;
    it.fresh = false;
    changed(f, rate);
    it.rate = rate;
  }

  void touch(int r);
  bool solve_rates();
  void activate(int f);
  void fill();
  void start_levels();
  void fix(int f, double rate, int limiting);
  void release(int follower, double rate, int limiting);
  void add_violators(int r);

  bool incremental_;
  unsigned stamp_ = 0;
  std::size_t unfixed_ = 0;
  std::vector<double> capacity_; // by resource
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<Flow> flows_;
  std::vector<int> free_;
  std::vector<int> dirty_;
  std::vector<int> fresh_;
  std::vector<int> touched_;     // resources of the flows being solved
  std::vector<int> active_;      // flows being solved
  std::vector<double> new_rate_; // parallel to active_
  std::vector<int> violators_;
  std::vector<Level> levels_; // heap
  std::vector<Cap> caps_;     // heap, the lowest level first
};

} // namespace foretrain::sim
