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

std::vector<std::vector<platforms::GpuPlace>> PlanExchanges::sets(const Layout& own) const
{
  const auto groups = models::groups_among(own, 0, static_cast<int>(site_.ranks.size()));
  const auto place = [&](int rank) { return site_.ranks[static_cast<std::size_t>(rank)]; };
  std::set<int> nodes;
  for (const int rank : groups.front())
    nodes.insert(place(rank).node);
  const auto most = static_cast<std::size_t>(2 * site_.platform.gpus_per_node());
  std::vector<std::vector<platforms::GpuPlace>> all;
  for (const auto& group : groups) {
    if (all.size() >= most)
      break;
    std::vector<platforms::GpuPlace> places;
    for (const int rank : group)
      places.push_back(place(rank));
    if (std::any_of(places.begin(), places.end(),
                    [&](const auto& it) { return nodes.contains(it.node); }))
      all.push_back(std::move(places));
  }
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
  auto& made = collectives_[{own, operation}];
  if (made.empty())
    for (const auto& places : sets(own))
      made.push_back(call(places, operation));
  return made;
}

// All of them at once.
Seconds PlanExchanges::run(const Calls& calls, Bytes size)
{
  sim::TaskGraph& graph =
      *graphs_.emplace_back(std::make_unique<sim::TaskGraph>(engine_, "exchange"));
  const sim::TaskId begin = graph.add_join("begin");
  std::vector<sim::TaskId> flows;
  for (const auto& collective : calls)
    collective->add(graph, begin, size, 0, fidelity_, flows);
  const Seconds start = engine_.now();
  Seconds end;
  graph.start([&] { end = engine_.now(); });
  engine_.run();
  return end - start;
}

Seconds PlanExchanges::time(PlanGroup group, Operation operation, Bytes size)
{
  const Layout own = models::layout_of(group, *setting_);
  if (own.count < 2 || size.value() <= 0)
    return Seconds(0);
  const auto key = std::make_tuple(own, operation, size.value());
  if (const auto found = known_.find(key); found != known_.end())
    return found->second;
  return known_[key] = run(collectives(own, operation), size);
}

// Both ways at once, as stages do in the middle of a step; beyond two nodes' GPUs pairs repeat.
Seconds PlanExchanges::transfer(int from_stage, Bytes size)
{
  const int stages = setting_->plan.pipeline;
  const int per_stage = static_cast<int>(site_.ranks.size()) / stages;
  const int from = from_stage * per_stage;
  const int to = (from_stage + 1) % stages * per_stage;
  const auto key = std::make_tuple(from, to, per_stage, size.value());
  if (const auto found = transfers_.find(key); found != transfers_.end())
    return found->second;
  Calls& pairs = sends_.emplace_back();
  const auto place = [&](int rank) { return site_.ranks[static_cast<std::size_t>(rank)]; };
  for (int lane = 0; lane < std::min(per_stage, 2 * site_.platform.gpus_per_node()); ++lane)
    pairs.push_back(call({place(from + lane), place(to + lane)}, Operation::send_receive));
  return transfers_[key] = run(pairs, size);
}

} // namespace foretrain::experiments
