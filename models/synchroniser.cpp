#include "models/synchroniser.hpp"

#include <fmt/format.h>

namespace foretrain::models {

std::vector<sim::TaskId> Synchroniser::fetch(sim::TaskGraph&, Fidelity, std::vector<sim::TaskId>&)
{
  return {};
}

sim::TaskId AllReduce::add(sim::TaskGraph& graph, sim::TaskId begin, Bytes size, int index,
                           Fidelity fidelity, std::vector<sim::TaskId>& flows)
{
  return collective_->add(graph, begin, size, index, fidelity, flows);
}

std::string AllReduce::summary(Bytes size, Fidelity fidelity) const
{
  const auto choice = collective_->choose(size, fidelity);
  return fmt::format("{} {}, {} channels", choice.algorithm, choice.protocol,
                     collective_->communicator().channels.size());
}

std::string AllReduce::call(Bytes size, Fidelity fidelity) const
{
  const auto choice = collective_->choose(size, fidelity);
  return fmt::format("ncclDevKernel_AllReduce_Sum_{}_{}", choice.algorithm, choice.protocol);
}

double Synchroniser::used(sim::ResourceId, Fidelity) const
{
  return 0;
}

double AllReduce::used(sim::ResourceId resource, Fidelity fidelity) const
{
  return collective_->used(resource, fidelity);
}

} // namespace foretrain::models
