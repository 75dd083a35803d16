#include "experiments/run/plan_exchanges.hpp"

#include <algorithm>
#include <set>

namespace foretrain::experiments {

using models::Operation;
using models::PlanGroup;

PlanExchanges::PlanExchanges(const LargeExperiment& experiment, models::Fidelity fidelity)
    : e_(experiment), setting_(&experiment.job.setting.memory), fidelity_(fidelity),
      machine_(engine_, experiment.platform, experiment.stack, experiment.nodes),
      graph_rules_(graph_rules(experiment.job.library))
{
  graph_rules_.found = std::make_shared<platforms::FoundGraphs>();
}

PlanExchanges::Layout PlanExchanges::layout(PlanGroup group) const
{
  const models::ParallelPlan& plan = setting_->plan;
  const models::PlannedBatch& batch = setting_->batch;
  const int replicas = plan.context * batch.data;
  const int shard = setting_->shard;
  switch (group) {
  case PlanGroup::tensor:
    return {plan.tensor, 1};
  case PlanGroup::context:
    return {plan.context, plan.tensor};
  case PlanGroup::data:
    return {replicas, plan.tensor};
  case PlanGroup::shard:
    return {shard, plan.tensor};
  case PlanGroup::across:
    return {replicas / shard, plan.tensor * shard};
  case PlanGroup::expert:
    return {plan.expert, plan.expert_tensor};
  case PlanGroup::expert_tensor:
    return {plan.expert_tensor, 1};
  case PlanGroup::expert_data:
    return {std::max(1, plan.tensor * replicas / (plan.expert * plan.expert_tensor)),
            plan.expert * plan.expert_tensor};
  case PlanGroup::pipeline:
    return {plan.pipeline > 1 ? 2 : 1, plan.tensor * replicas};
  }
  return {};
}

int PlanExchanges::ranks(PlanGroup group) const
{
  return layout(group).count;
}

std::vector<std::vector<platforms::GpuPlace>> PlanExchanges::sets(const Layout& own) const
{
  const int per_node = e_.gpus_per_node;
  const int gpus = e_.job.spec.gpus;
  const auto members = [&](int first) {
    std::vector<platforms::GpuPlace> places;
    for (int i = 0; i < own.count; ++i) {
      const int rank = first + i * own.stride;
      places.push_back({rank / per_node, rank % per_node});
    }
    return places;
  };
  std::set<int> nodes;
  for (const auto& place : members(0))
    nodes.insert(place.node);
  // Firsts of groups: ranks whose position within the group's block is before the stride.
  std::vector<std::vector<platforms::GpuPlace>> all;
  const int block = own.count * own.stride;
  for (int begin = 0; begin + block <= gpus && begin / per_node <= *nodes.rbegin(); begin += block)
    for (int first = begin; first < begin + own.stride; ++first) {
      auto places = members(first);
      if (std::any_of(places.begin(), places.end(),
                      [&](const auto& place) { return nodes.contains(place.node); }))
        all.push_back(std::move(places));
      if (all.size() >= static_cast<std::size_t>(2 * per_node))
        return all;
    }
  return all;
}

const std::vector<std::unique_ptr<models::Collective>>&
PlanExchanges::collectives(const Layout& own, Operation operation)
{
  auto& made = collectives_[{own, operation}];
  if (made.empty())
    for (const auto& places : sets(own))
      made.push_back(std::make_unique<models::Collective>(
          engine_, platforms::make_communicator(machine_, places, e_.platform.name, graph_rules_),
          e_.job.library, operation, "auto"));
  return made;
}

Seconds PlanExchanges::time(PlanGroup group, Operation operation, Bytes size)
{
  const Layout own = layout(group);
  if (own.count < 2 || size.value() <= 0)
    return Seconds(0);
  const auto key = std::make_tuple(own, operation, size.value());
  if (const auto found = known_.find(key); found != known_.end())
    return found->second;
  sim::TaskGraph& graph =
      *graphs_.emplace_back(std::make_unique<sim::TaskGraph>(engine_, "exchange"));
  const sim::TaskId begin = graph.add_join("begin");
  std::vector<sim::TaskId> flows;
  for (const auto& collective : collectives(own, operation))
    collective->add(graph, begin, size, 0, fidelity_, flows);
  const Seconds start = engine_.now();
  Seconds end;
  graph.start([&] { end = engine_.now(); });
  engine_.run();
  return known_[key] = end - start;
}

} // namespace foretrain::experiments
