#include "platforms/idle_copies.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace foretrain::platforms {

double IdleCopies::rate(const std::vector<sim::PathPtr>& paths)
{
  constexpr double kBytes = 4e9; // of each
  while (resources_ < engine_.resource_count())
    shares_.add_resource(engine_.capacity({resources_++}));
  std::vector<std::pair<int, double>> left; // flow, bytes
  for (const sim::PathPtr& path : paths)
    left.emplace_back(shares_.add_flow(path->uses, path->cap, 1), kBytes);
  double now = 0;
  while (!left.empty()) {
    shares_.solve([](int, double) {});
    double step = std::numeric_limits<double>::infinity();
    for (const auto& [flow, bytes] : left)
      step = std::min(step, bytes / shares_.rate(flow));
    now += step;
    for (auto& [flow, bytes] : left)
      bytes -= step * shares_.rate(flow);
    std::erase_if(left, [&](const auto& it) {
      const bool done = it.second <= 1e-9 * kBytes;
      if (done)
        shares_.remove_flow(it.first);
      return done;
    });
  }
  return static_cast<double>(paths.size()) * kBytes / now;
}

} // namespace foretrain::platforms
