#include "experiments/run/simulate/plan_exchanges.hpp"

#include <algorithm>
#include <set>

namespace foretrain::experiments {

using models::ExchangeSets;
using models::Operation;
using models::PlanGroup;

namespace {

// GPUs on each node, if ranks fill one node after the other and have the same GPUs on all; else 0.
int even_share(const std::vector<platforms::GpuPlace>& ranks)
{
  std::size_t share = 0;
  while (share < ranks.size() && ranks[share].node == ranks.front().node)
    ++share;
  if (ranks.size() % share != 0)
    return 0;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i].local != ranks[i % share].local ||
        ranks[i].node != ranks.front().node + static_cast<int>(i / share))
      return 0;
  return static_cast<int>(share);
}

} // namespace

PlanExchanges::PlanExchanges(ExchangeSite site, const models::MemorySetting& setting,
                             models::Fidelity fidelity, std::size_t job,
                             std::shared_ptr<KnownExchanges> known)
    : site_(std::move(site)), fidelity_(fidelity), job_(job), setting_(&setting),
      even_(even_share(site_.ranks)), known_(std::move(known))
{
}

ExchangeClock& PlanExchanges::clock()
{
  if (!clock_)
    clock_ = std::make_unique<ExchangeClock>(site_, fidelity_);
  return *clock_;
}

int PlanExchanges::ranks(PlanGroup group) const
{
  return models::layout_of(group, *setting_).count;
}

int PlanExchanges::nodes(PlanGroup group) const
{
  const Layout own = models::layout_of(group, *setting_);
  std::set<int> nodes;
  for (int i = 0; i < own.count; ++i)
    nodes.insert(site_.ranks[static_cast<std::size_t>(stage_ * per_stage() + i * own.stride)].node);
  return static_cast<int>(nodes.size());
}

int PlanExchanges::per_stage() const
{
  return static_cast<int>(site_.ranks.size()) / setting_->plan.pipeline;
}

PlanExchanges::StagePlace PlanExchanges::place_of_stage() const
{
  if (even_ == 0)
    return {stage_, per_stage()};
  const int first = stage_ * per_stage() % even_;
  const bool whole_nodes = first == 0 && per_stage() % even_ == 0;
  return {first, whole_nodes ? 0 : per_stage()};
}

ExchangeSets PlanExchanges::sets(const Layout& own) const
{
  const int begin = stage_ * per_stage();
  const auto place = [&](int rank) { return site_.ranks[static_cast<std::size_t>(rank)]; };
  std::set<int> nodes; // of the first group
  const auto near = [&](const std::vector<int>& group) {
    return std::any_of(group.begin(), group.end(),
                       [&](int rank) { return nodes.contains(place(rank).node); });
  };
  const auto most = static_cast<std::size_t>(2 * site_.platform.gpus_per_node());
  std::set<std::vector<platforms::GpuPlace>> kinds; // groups, seen from their first node
  ExchangeSets all;
  for (auto& group : models::groups_among(own, begin, begin + per_stage())) {
    if (all.own.size() >= most)
      break;
    if (all.own.empty())
      for (const int rank : group)
        nodes.insert(place(rank).node);
    std::vector<platforms::GpuPlace> kind;
    for (const int rank : group)
      kind.push_back({place(rank).node - place(group.front()).node, place(rank).local});
    if (kinds.insert(std::move(kind)).second || near(group))
      all.own.push_back(std::move(group));
  }
  // Other stages on these nodes exchange at about the same time.
  for (int stage = 0; stage < setting_->plan.pipeline; ++stage)
    if (stage != stage_ && all.others.size() < most)
      for (auto& group : models::groups_among(own, stage * per_stage(), (stage + 1) * per_stage()))
        if (near(group))
          all.others.push_back(std::move(group));
  return all;
}

ExchangeSets PlanExchanges::sets(PlanGroup group)
{
  return sets(models::layout_of(group, *setting_));
}

const ExchangeClock::Calls& PlanExchanges::calls(const Layout& own, Operation operation)
{
  auto& made = calls_[{own, place_of_stage(), operation}];
  if (made.own.empty()) {
    const ExchangeSets all = sets(own);
    made = clock().calls(all.own, all.others, operation);
  }
  return made;
}

Seconds PlanExchanges::time(PlanGroup group, Operation operation, Bytes size)
{
  const Layout own = models::layout_of(group, *setting_);
  if (own.count < 2 || size.value() <= 0)
    return Seconds(0);
  const auto key = std::make_tuple(job_, fidelity_, own, place_of_stage(), operation, size.value());
  if (const auto found = known_->groups.find(key); found != known_->groups.end())
    return found->second;
  return known_->groups[key] = clock().time(calls(own, operation), size);
}

// Both ways at once, as stages do in the middle of a step; beyond two nodes' GPUs pairs repeat.
std::vector<std::vector<int>> PlanExchanges::pairs(int from_stage, int to_stage)
{
  const int lanes = per_stage();
  const auto [low, high] = std::minmax(from_stage, to_stage);
  std::vector<std::vector<int>> pairs;
  for (int lane = 0; lane < std::min(lanes, 2 * site_.platform.gpus_per_node()); ++lane)
    pairs.push_back({low * lanes + lane, high * lanes + lane});
  return pairs;
}

Seconds PlanExchanges::transfer(int from_stage, Bytes size)
{
  const int to_stage = (from_stage + 1) % setting_->plan.pipeline;
  const auto [low, high] = std::minmax(from_stage, to_stage);
  const auto key = std::make_tuple(job_, fidelity_, low * per_stage(), high * per_stage(),
                                   per_stage(), size.value());
  if (const auto found = known_->transfers.find(key); found != known_->transfers.end())
    return found->second;
  sends_.push_back(clock().calls(pairs(from_stage, to_stage), {}, Operation::send_receive));
  return known_->transfers[key] = clock().time(sends_.back(), size);
}

} // namespace foretrain::experiments
