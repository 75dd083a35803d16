#include "models/fleet/preempt.hpp"

#include <algorithm>
#include <tuple>

namespace foretrain::models::fleet {

std::vector<JobId> preempt_quantum(const Scheduler& s, const KeyNow& key)
{
  struct Candidate {
    double key;
    bool waits; // of two that are alike, the one that runs goes on
    JobId job;
  };
  std::vector<Candidate> all;
  for (const Ending& ending : s.endings())
    all.push_back({key(ending.job), false, ending.job});
  for (const Waiting& waiting : s.waiting())
    if (!waiting.gone)
      all.push_back({waiting.key, true, waiting.job});
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.key, a.waits, a.job) < std::tie(b.key, b.waits, b.job);
  });
  int left = s.shape().gpus() - s.down();
  std::vector<JobId> stopped;
  for (const Candidate& candidate : all) {
    const bool chosen = s.job(candidate.job).gpus <= left;
    if (chosen)
      left -= s.job(candidate.job).gpus;
    else if (!candidate.waits)
      stopped.push_back(candidate.job);
  }
  return stopped;
}

} // namespace foretrain::models::fleet
