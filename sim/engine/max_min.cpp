#include "sim/engine/max_min.hpp"

#include <algorithm>
#include <limits>

namespace foretrain::sim {

namespace {
constexpr double kTolerance = 1e-11;     // relative, of levels when checking optimality
constexpr double kLoadTolerance = 1e-10; // of sums of rates
} // namespace

int MaxMin::add_resource(double capacity)
{
  const std::size_t number = capacity_.size();
  capacity_.push_back(capacity);
  pages_.resize(number / kPage + 1);
  return static_cast<int>(number);
}

void MaxMin::set_capacity(int r, double capacity)
{
  capacity_[index(r)] = capacity;
  if (pages_[index(r) / kPage])
    touch(r);
}

double MaxMin::load(int r) const
{
  const std::unique_ptr<Page>& page = pages_[index(r) / kPage];
  if (!page)
    return 0;
  double sum = 0;
  for (const Entry& entry : (*page)[index(r) % kPage].entries)
    sum += entry.weight * flows_[index(entry.flow)].rate;
  return sum;
}

void MaxMin::touch(int r)
{
  Resource& it = resource(r);
  if (it.dirty)
    return;
  it.dirty = true;
  dirty_.push_back(r);
}

int MaxMin::add_flow(std::span<const Use> uses, double cap, double priority)
{
  int f = 0;
  if (free_.empty()) {
    f = static_cast<int>(flows_.size());
    flows_.emplace_back();
  } else {
    f = free_.back();
    free_.pop_back();
  }
  Flow& it = flow(f);
  it.uses = uses;
  it.position.resize(uses.size());
  it.rate = 0;
  it.cap = cap;
  it.priority = priority;
  it.limiting = kOwnCap;
  it.leader = it.follower = -1;
  it.alive = it.fresh = true;
  it.solving = it.fixed = false;
  for (std::size_t k = 0; k < uses.size(); ++k) {
    auto& entries = resource(uses[k].resource).entries;
    it.position[k] = static_cast<int>(entries.size());
    entries.push_back({f, uses[k].weight});
    touch(uses[k].resource);
  }
  fresh_.push_back(f);
  return f;
}

int MaxMin::add_follower(std::span<const Use> uses, int leader, double priority)
{
  const int f = add_flow(uses, kNoCap, std::min(priority, flow(leader).priority));
  flow(f).leader = leader;
  flow(leader).follower = f;
  return f;
}

void MaxMin::remove_flow(int f)
{
  Flow& it = flow(f);
  if (it.leader >= 0)
    flow(it.leader).follower = -1;
  for (std::size_t k = 0; k < it.uses.size(); ++k) {
    const int r = it.uses[k].resource;
    auto& entries = resource(r).entries;
    const auto position = index(it.position[k]);
    if (position + 1 != entries.size()) { // the last entry takes the free place
      entries[position] = entries.back();
      Flow& moved = flow(entries[position].flow);
      const auto use = std::lower_bound(moved.uses.begin(), moved.uses.end(), r,
                                        [](const Use& u, int key) { return u.resource < key; });
      moved.position[static_cast<std::size_t>(use - moved.uses.begin())] =
          static_cast<int>(position);
    }
    entries.pop_back();
    touch(r);
  }
  it.alive = it.fresh = false;
  it.rate = 0;
  free_.push_back(f);
}

void MaxMin::activate(int f)
{
  Flow& it = flow(f);
  if (it.solving)
    return;
  it.solving = true;
  active_.push_back(f);
  for (const Use& use : it.uses) {
    Resource& r = resource(use.resource);
    if (r.seen != stamp_) {
      r.seen = stamp_;
      touched_.push_back(use.resource);
    }
  }
  for (const int partner : {it.leader, it.follower})
    if (partner >= 0)
      activate(partner);
}

// Rates of all active flows by progressive filling; the others keep theirs.
void MaxMin::fill()
{
  new_rate_.assign(active_.size(), 0.0);
  caps_.clear();
  for (std::size_t i = 0; i < active_.size(); ++i) {
    Flow& it = flow(active_[i]);
    it.fixed = false;
    it.slot = static_cast<int>(i);
    if (it.cap > 0)
      caps_.push_back({it.cap / it.priority, active_[i], it.cap, kOwnCap});
  }
  std::make_heap(caps_.begin(), caps_.end());
  const auto drop_cap = [this] {
    std::pop_heap(caps_.begin(), caps_.end());
    caps_.pop_back();
  };
  start_levels();

  unfixed_ = active_.size();
  while (unfixed_ > 0) {
    while (!levels_.empty() &&
           levels_.front().version != resource(levels_.front().resource).version) {
      std::pop_heap(levels_.begin(), levels_.end());
      levels_.pop_back();
    }
    const double level =
        levels_.empty() ? std::numeric_limits<double>::infinity() : levels_.front().level;
    while (!caps_.empty() && flow(caps_.front().flow).fixed)
      drop_cap();
    if (!caps_.empty() && caps_.front().level <= level) {
      const Cap cap = caps_.front();
      drop_cap();
      fix(cap.flow, cap.rate, cap.limiting);
      continue;
    }
    if (levels_.empty()) {
      for (const int f : active_)
        if (!flow(f).fixed)
          fix(f, kInfiniteRate, kUnlimited);
      break;
    }
    const int r = levels_.front().resource;
    ++resource(r).version;
    for (std::size_t k = 0; k < resource(r).entries.size(); ++k) {
      const int f = resource(r).entries[k].flow;
      if (flow(f).solving && !flow(f).fixed)
        fix(f, level * flow(f).priority, r);
    }
  }
}

void MaxMin::start_levels()
{
  levels_.clear();
  for (const int r : touched_) {
    Resource& it = resource(r);
    it.left = capacity(r);
    it.demand = 0;
    for (const Entry& entry : it.entries) {
      const Flow& user = flow(entry.flow);
      if (user.solving)
        it.demand += entry.weight * user.priority;
      else
        it.left -= entry.weight * user.rate;
    }
    it.left = std::max(it.left, 0.0);
    if (it.demand > 0)
      levels_.push_back({it.left / it.demand, r, ++it.version});
  }
  std::make_heap(levels_.begin(), levels_.end());
}

void MaxMin::fix(int f, double rate, int limiting)
{
  Flow& it = flow(f);
  it.fixed = true;
  it.limiting = limiting;
  --unfixed_;
  new_rate_[index(it.slot)] = rate;
  for (const Use& use : it.uses) {
    Resource& r = resource(use.resource);
    r.left = std::max(r.left - use.weight * rate, 0.0);
    r.demand -= use.weight * it.priority;
    ++r.version;
    if (r.demand > 1e-12 * use.weight * it.priority) {
      levels_.push_back({r.left / r.demand, use.resource, r.version});
      std::push_heap(levels_.begin(), levels_.end());
    } else {
      r.demand = 0;
    }
  }
  if (it.follower >= 0)
    release(it.follower, rate, limiting);
}

// The leader's rate is known: it is the follower's cap from now on.
void MaxMin::release(int follower, double rate, int limiting)
{
  caps_.push_back({rate / flow(follower).priority, follower, rate, limiting});
  std::push_heap(caps_.begin(), caps_.end());
}

// Flows outside the solved set that break max-min optimality on resource r.
void MaxMin::add_violators(int r)
{
  const Resource& it = resource(r);
  double load = 0;
  double top = 0;           // highest level of any flow here
  double limited_here = -1; // highest level of solved flows that are limited here
  bool others = false;
  for (const Entry& entry : it.entries) {
    const Flow& user = flow(entry.flow);
    const double rate = user.solving ? new_rate_[index(user.slot)] : user.rate;
    const double level = rate / user.priority;
    load += entry.weight * rate;
    top = std::max(top, level);
    others |= !user.solving;
    if (user.solving && user.limiting == r)
      limited_here = std::max(limited_here, level);
  }
  if (!others)
    return;
  const bool saturated = load >= capacity(r) * (1 - kLoadTolerance);
  const bool overloaded = load > capacity(r) * (1 + kLoadTolerance); // its capacity fell
  for (const Entry& entry : it.entries) {
    const Flow& user = flow(entry.flow);
    if (user.solving)
      continue;
    const double level = user.rate / user.priority;
    const bool takes_too_much = limited_here >= 0 && level > limited_here * (1 + kTolerance);
    const bool entitled_to_more =
        user.limiting == r && (!saturated || level < top * (1 - kTolerance));
    if (takes_too_much || entitled_to_more || overloaded)
      violators_.push_back(entry.flow);
  }
}

bool MaxMin::solve_rates()
{
  if (dirty_.empty() && fresh_.empty())
    return false;
  ++stamp_;
  touched_.clear();
  active_.clear();
  for (const int r : dirty_) {
    resource(r).dirty = false;
    resource(r).seen = stamp_;
    touched_.push_back(r);
  }
  for (const int f : fresh_)
    if (flow(f).alive)
      activate(f);
  fresh_.clear();
  if (!incremental_) { // the whole connected component
    dirty_.clear();
    for (std::size_t i = 0; i < touched_.size(); ++i)
      for (std::size_t k = 0; k < resource(touched_[i]).entries.size(); ++k)
        activate(resource(touched_[i]).entries[k].flow);
    fill();
    return true;
  }
  for (const int r : dirty_)
    for (const Entry& entry : resource(r).entries)
      if (flow(entry.flow).limiting == r)
        activate(entry.flow);
  dirty_.clear();
  while (true) {
    fill();
    violators_.clear();
    for (const int r : touched_)
      add_violators(r);
    if (violators_.empty())
      return true;
    for (const int f : violators_)
      activate(f);
  }
}

} // namespace foretrain::sim
