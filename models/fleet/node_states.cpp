#include "models/fleet/node_states.hpp"

#include <algorithm>
#include <utility>

namespace foretrain::models::fleet {

NodeStates::NodeStates(const ClusterShape& shape, int spares)
    : nodes_(static_cast<std::size_t>(shape.nodes))
{
  for (int node = shape.nodes - spares; node < shape.nodes; ++node)
    stand_by(node);
}

NodeStates::Broke NodeStates::break_node(int node)
{
  if (at(node).state == State::broken || in_maintenance(node))
    return Broke::nothing;
  std::erase(standby_, node);
  const State before = std::exchange(at(node).state, State::broken);
  return before == State::in_service ? Broke::in_service : Broke::spare;
}

void NodeStates::stand_by(int node)
{
  at(node).state = State::standby;
  standby_.push_back(node);
}

std::optional<int> NodeStates::call_spare()
{
  const auto spare = std::find_if(standby_.begin(), standby_.end(),
                                  [this](int node) { return !in_maintenance(node); });
  if (spare == standby_.end())
    return {};
  const int node = *spare;
  standby_.erase(spare);
  at(node).state = State::in_service;
  return node;
}

int NodeStates::standing_by() const
{
  return static_cast<int>(
      std::ranges::count_if(standby_, [this](int node) { return !in_maintenance(node); }));
}

std::uint32_t NodeStates::start(int node)
{
  at(node).state = State::starting;
  return ++at(node).starts;
}

bool NodeStates::end_start(int node, std::uint32_t number)
{
  if (at(node).state != State::starting || at(node).starts != number)
    return false;
  at(node).state = State::in_service;
  return true;
}

} // namespace foretrain::models::fleet
