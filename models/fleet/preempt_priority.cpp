#include "models/fleet/preempt.hpp"

#include <algorithm>

namespace foretrain::models::fleet {

namespace {

bool meet(const Allocation& a, const Allocation& b)
{
  return std::any_of(a.begin(), a.end(), [&](const Slice& one) {
    return std::any_of(b.begin(), b.end(), [&](const Slice& other) {
      return one.node == other.node && (one.gpus & other.gpus) != 0;
    });
  });
}

} // namespace

std::vector<JobId> preempt_priority(const Scheduler& s, const KeyNow& key)
{
  GpuSet free = s.free();
  std::vector<std::pair<double, JobId>> behind; // running jobs, the last in the order first
  for (const Ending& ending : s.endings())
    behind.emplace_back(key(ending.job), ending.job);
  std::sort(behind.rbegin(), behind.rend());
  std::vector<JobId> stopped;
  for (const Waiting& waiting : s.waiting()) {
    if (waiting.gone || !s.allowed(waiting.job))
      continue;
    GpuSet then = free;
    std::size_t asked = 0;
    Allocation place = s.place(then, waiting.job);
    while (place.empty() && asked < behind.size() && behind[asked].first > waiting.key) {
      then.add(s.up_part(s.held(behind[asked++].second)));
      if (then.count() >= waiting.gpus)
        place = s.place(then, waiting.job);
    }
    if (place.empty())
      break;
    const auto goes_on =
        std::stable_partition(behind.begin(), behind.begin() + static_cast<std::ptrdiff_t>(asked),
                              [&](const auto& job) { return meet(s.held(job.second), place); });
    for (auto it = behind.begin(); it != goes_on; ++it) {
      free.add(s.up_part(s.held(it->second)));
      stopped.push_back(it->second);
    }
    behind.erase(behind.begin(), goes_on);
    free.remove(place);
  }
  return stopped;
}

} // namespace foretrain::models::fleet
