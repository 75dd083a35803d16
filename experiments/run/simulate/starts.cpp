#include "experiments/run/simulate/starts.hpp"

#include <algorithm>
#include <numeric>

namespace foretrain::experiments {

namespace {
constexpr Seconds kLongestGap{60};
}

std::vector<Seconds> simulated_starts(const ResolvedExperiment& experiment)
{
  const auto& jobs = experiment.jobs;
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return jobs[a].spec.start < jobs[b].spec.start;
  });
  std::vector<Seconds> starts(jobs.size());
  Seconds cut{};
  Seconds before{};
  bool somebody_leaves = false;
  for (const std::size_t i : order) {
    const Seconds gap = jobs[i].spec.start - before;
    if (gap > kLongestGap && !somebody_leaves)
      cut += gap - kLongestGap;
    before = jobs[i].spec.start;
    starts[i] = before - cut;
    somebody_leaves = somebody_leaves || jobs[i].spec.ends;
  }
  return starts;
}

} // namespace foretrain::experiments
