#include "experiments/run/simulate/exchange_clock.hpp"

#include <algorithm>

namespace foretrain::experiments {

ExchangeClock::ExchangeClock(ExchangeSite site, models::Fidelity fidelity)
    : site_(std::move(site)), fidelity_(fidelity),
      machine_(engine_, site_.platform, site_.stack, site_.nodes, site_.pcie_scale),
      graph_rules_(graph_rules(site_.library))
{
}

std::unique_ptr<models::Collective> ExchangeClock::call(const std::vector<int>& ranks,
                                                        models::Operation operation)
{
  std::vector<platforms::GpuPlace> places;
  for (const int rank : ranks)
    places.push_back(site_.ranks.at(static_cast<std::size_t>(rank)));
  return std::make_unique<models::Collective>(
      engine_, platforms::make_communicator(machine_, places, site_.platform.name, graph_rules_),
      site_.library, operation, "auto");
}

ExchangeClock::Calls ExchangeClock::calls(const Sets& own, const Sets& others,
                                          models::Operation operation)
{
  Calls made;
  for (const auto& ranks : own)
    made.own.push_back(call(ranks, operation));
  for (const auto& ranks : others)
    made.others.push_back(call(ranks, operation));
  return made;
}

Seconds ExchangeClock::time(const Calls& calls, Bytes size)
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
  Seconds end = start;
  for (const sim::TaskId task : ends)
    end = std::max(end, graph.finished(task));
  return end - start;
}

} // namespace foretrain::experiments
