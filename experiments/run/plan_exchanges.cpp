#include "experiments/run/plan_exchanges.hpp"

#include <algorithm>
#include <set>

namespace foretrain::experiments {

using models::Operation;
using models::PlanGroup;

namespace {

std::vector<platforms::GpuPlace> node_by_node(int gpus, int per_node)
{
  std::vector<platforms::GpuPlace> places;
  for (int rank = 0; rank < gpus; ++rank)
    places.push_back({rank / per_node, rank % per_node});
  return places;
}

} // namespace

PlanExchanges::PlanExchanges(const LargeExperiment& e, models::Fidelity fidelity)
    : PlanExchanges({e.platform, e.stack, e.job.library, e.nodes,
                     node_by_node(e.job.spec.gpus, e.gpus_per_node)},
                    e.job.setting.memory, fidelity)
{
  even_ = e.gpus_per_node;
}

PlanExchanges::PlanExchanges(const ExchangeSite& site, const models::MemorySetting& setting,
                             models::Fidelity fidelity)
    : site_(site), setting_(&setting), fidelity_(fidelity),
      machine_(engine_, site.platform, site.stack, site.nodes),
      graph_rules_(graph_rules(site.library))
{
  graph_rules_.found = std::make_shared<platforms::FoundGraphs>();
}

int PlanExchanges::ranks(PlanGroup group) const
{
  return models::layout_of(group, *setting_).count;
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

PlanExchanges::Sets PlanExchanges::sets(const Layout& own) const
{
  const int begin = stage_ * per_stage();
  const auto places_of = [&](const std::vector<int>& group) {
    std::vector<platforms::GpuPlace> places;
    for (const int rank : group)
      places.push_back(site_.ranks[static_cast<std::size_t>(rank)]);
    return places;
  };
  std::set<int> nodes; // of the first group
  const auto near = [&](const std::vector<platforms::GpuPlace>& places) {
    return std::any_of(places.begin(), places.end(),
                       [&](const auto& it) { return nodes.contains(it.node); });
  };
  const auto most = static_cast<std::size_t>(2 * site_.platform.gpus_per_node());
  std::set<std::vector<platforms::GpuPlace>> kinds; // groups, told from their first node
  Sets all;
  for (const auto& group : models::groups_among(own, begin, begin + per_stage())) {
    if (all.own.size() >= most)
      break;
    auto places = places_of(group);
    if (all.own.empty())
      for (const auto& it : places)
        nodes.insert(it.node);
    auto kind = places;
    for (auto& it : kind)
      it.node -= places.front().node;
    if (kinds.insert(std::move(kind)).second || near(places))
      all.own.push_back(std::move(places));
  }
  // Other stages on these nodes exchange at about the same time.
  for (int stage = 0; stage < setting_->plan.pipeline; ++stage)
    if (stage != stage_ && all.others.size() < most)
      for (const auto& group :
           models::groups_among(own, stage * per_stage(), (stage + 1) * per_stage()))
        if (auto places = places_of(group); near(places))
          all.others.push_back(std::move(places));
  return all;
}

std::unique_ptr<models::Collective>
PlanExchanges::call(const std::vector<platforms::GpuPlace>& places, Operation operation)
{
  return std::make_unique<models::Collective>(
      engine_, platforms::make_communicator(machine_, places, site_.platform.name, graph_rules_),
      site_.library, operation, "auto");
}

const PlanExchanges::Calls& PlanExchanges::collectives(const Layout& own, Operation operation)
{
  auto& made = collectives_[{own, place_of_stage(), operation}];
  if (made.own.empty()) {
    const Sets all = sets(own);
    for (const auto& places : all.own)
      made.own.push_back(call(places, operation));
    for (const auto& places : all.others)
      made.others.push_back(call(places, operation));
  }
  return made;
}

// All of them at once; told is when the last of its own ends.
Seconds PlanExchanges::run(const Calls& calls, Bytes size)
{
  sim::TaskGraph& graph =
      *graphs_.emplace_back(std::make_unique<sim::TaskGraph>(engine_, "exchange"));
  const sim::TaskId begin = graph.add_join("begin");
  std::vector<sim::TaskId> flows;
  std::vector<sim::TaskId> ends;
  for (const auto& collective : calls.own)
    ends.push_back(collective->add(graph, begin, size, 0, fidelity_, flows));
  for (const auto& collective : calls.others)
    collective->add(graph, begin, size, 0, fidelity_, flows);
  const Seconds start = engine_.now();
  graph.start([] {});
  engine_.run();
  Seconds end;
  for (const sim::TaskId task : ends)
    end = std::max(end, graph.finished(task));
  return end - start;
}

Seconds PlanExchanges::time(PlanGroup group, Operation operation, Bytes size)
{
  const Layout own = models::layout_of(group, *setting_);
  if (own.count < 2 || size.value() <= 0)
    return Seconds(0);
  const auto key = std::make_tuple(own, place_of_stage(), operation, size.value());
  if (const auto found = known_.find(key); found != known_.end())
    return found->second;
  return known_[key] = run(collectives(own, operation), size);
}

// Both ways at once, as stages do in the middle of a step; beyond two nodes' GPUs pairs repeat.
Seconds PlanExchanges::transfer(int from_stage, Bytes size)
{
  const int lanes = per_stage();
  const int from = from_stage * lanes;
  const int to = (from_stage + 1) % setting_->plan.pipeline * lanes;
  const auto key = std::make_tuple(from, to, lanes, size.value());
  if (const auto found = transfers_.find(key); found != transfers_.end())
    return found->second;
  Calls& pairs = sends_.emplace_back();
  const auto place = [&](int rank) { return site_.ranks[static_cast<std::size_t>(rank)]; };
  for (int lane = 0; lane < std::min(lanes, 2 * site_.platform.gpus_per_node()); ++lane)
    pairs.own.push_back(call({place(from + lane), place(to + lane)}, Operation::send_receive));
  return transfers_[key] = run(pairs, size);
}

} // namespace foretrain::experiments
