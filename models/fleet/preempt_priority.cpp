#include "models/fleet/preempt.hpp"

#include <algorithm>

namespace foretrain::models::fleet {

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
    std::size_t victims = 0;
    Allocation place = s.place(then, waiting.job);
    while (place.empty() && victims < behind.size() && behind[victims].first > waiting.key) {
      then.add(s.up_part(s.held(behind[victims++].second)));
      if (then.count() >= waiting.gpus)
        place = s.place(then, waiting.job);
    }
    if (place.empty())
      break;
    for (std::size_t i = 0; i < victims; ++i)
      stopped.push_back(behind[i].second);
    behind.erase(behind.begin(), behind.begin() + static_cast<std::ptrdiff_t>(victims));
    then.remove(place);
    free = then;
  }
  return stopped;
}

} // namespace foretrain::models::fleet
