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

Seconds asked_time(const ResolvedExperiment& experiment, Seconds from, Seconds to)
{
  const std::vector<Seconds> starts = simulated_starts(experiment);
  Seconds cut_before{};
  Seconds cut{};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Seconds left_out = experiment.jobs[i].spec.start - starts[i];
    if (starts[i] <= from)
      cut_before = std::max(cut_before, left_out);
    if (starts[i] <= to)
      cut = std::max(cut, left_out);
  }
  return to - from + (cut - cut_before);
}

} // namespace foretrain::experiments
