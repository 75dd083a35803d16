#include "sim/engine/path.hpp"

#include <algorithm>
#include <stdexcept>

namespace foretrain::sim {

namespace {
void tidy(std::vector<Use>& uses)
{
  std::sort(uses.begin(), uses.end(),
            [](const Use& a, const Use& b) { return a.resource < b.resource; });
  std::size_t kept = 0;
  for (const Use& use : uses) {
    if (use.weight < 0)
      throw std::logic_error("a path with a negative weight");
    if (use.weight == 0)
      continue;
    if (kept > 0 && uses[kept - 1].resource == use.resource)
      uses[kept - 1].weight += use.weight;
    else
      uses[kept++] = use;
  }
  uses.resize(kept);
  uses.shrink_to_fit();
}
} // namespace

PathPtr make_path(std::vector<Use> uses, Seconds latency, double cap, Held held)
{
  tidy(uses);
  tidy(held.uses);
  return std::make_shared<const Path>(Path{std::move(uses), std::move(held), latency, cap});
}

} // namespace foretrain::sim
