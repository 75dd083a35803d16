#include "models/servers/synchroniser.hpp"

namespace foretrain::models {

std::vector<sim::TaskId> Synchroniser::fetch(sim::TaskGraph&, Fidelity, std::vector<sim::TaskId>&)
{
  return {};
}

} // namespace foretrain::models
