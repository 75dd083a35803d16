#include "models/fleet/backfill.hpp"

#include <algorithm>

namespace foretrain::models::fleet {

namespace {

// Pods that do not fit are tried again after a while, in no order: in rounds, one of each job.
class PodByPod final : public Backfill {
public:
  void pass(Scheduler& s) override
  {
    for (const JobId id : s.arrived()) // they may have to wait before anything is free
      s.blame(id, s.allowed(id) ? Cause::gpus : Cause::quota);
    bool placed = true;
    while (placed && s.free().count() > 0) {
      placed = false;
      for (Waiting& waiting : s.waiting())
        placed |= !waiting.gone && place_pod(s, waiting);
    }
  }

private:
  static bool place_pod(Scheduler& s, Waiting& waiting)
  {
    const Job& job = s.job(waiting.job);
    if (!s.allowed(waiting.job)) {
      s.blame(waiting.job, Cause::quota);
      return false;
    }
    const int pod = job.nodes > 0 ? (job.gpus + job.nodes - 1) / job.nodes
                                  : std::min(job.gpus, s.shape().gpus_per_node);
    const int missing = job.gpus - count(s.held(waiting.job));
    const int gpus = std::min(pod, missing);
    const Allocation place = place_by(s.policy().placement)(s.free(), s.shape(), {gpus, 1});
    if (place.empty()) {
      s.blame(waiting.job, s.free().count() >= gpus ? Cause::fragmentation : Cause::gpus);
      return false;
    }
    if (missing == gpus)
      s.start(waiting, place);
    else
      s.hold(waiting.job, place);
    return true;
  }
};

} // namespace

std::unique_ptr<Backfill> pod_by_pod()
{
  return std::make_unique<PodByPod>();
}

} // namespace foretrain::models::fleet
