// A machine's stack by the name of its network, and what a way uses of a resource.
#pragma once

#include "platforms/machine.hpp"

#include <string>
#include <vector>

namespace foretrain::test {

inline platforms::Stack stack_of(const char* network)
{
  using namespace platforms;
  return {load_host(resolve_preset(std::string("bare-metal"), kHostKind)),
          load_transport(resolve_preset(std::string(network), kTransportKind))};
}

/// What uses of this resource weigh together, by its name; 0: none.
inline double weight_of(const std::vector<sim::Use>& uses, const sim::Engine& engine,
                        const std::string& resource)
{
  double weight = 0;
  for (const sim::Use& use : uses)
    if (engine.name({use.resource}) == resource)
      weight += use.weight;
  return weight;
}

inline double weight_of(const sim::Hop& hop, const sim::Engine& engine, const std::string& resource)
{
  return weight_of(hop.uses, engine, resource);
}

} // namespace foretrain::test
