// Between the two rooms: how a collective library finds its graphs on a machine.
#pragma once

#include "models/collectives/library.hpp"
#include "platforms/rings.hpp"

namespace foretrain::experiments {

inline platforms::GraphRules graph_rules(const models::Library& library)
{
  platforms::GraphRules rules;
  rules.order = library.rings;
  rules.search.version = library.version;
  rules.search.tables = library.vendor == sim::GpuVendor::amd;
  return rules;
}

} // namespace foretrain::experiments
