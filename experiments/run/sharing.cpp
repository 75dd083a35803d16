#include "experiments/run/sharing.hpp"

#include <algorithm>

namespace foretrain::experiments {

LimitedPerStep limited_per_step(const models::Job& job, const sim::Engine& engine)
{
  LimitedPerStep sums;
  const double steps = std::max<double>(1, static_cast<double>(job.step_times().size()));
  for (const sim::LimitedBy& limit : job.all_limits())
    if (limit.resource >= 0)
      sums[engine.name({limit.resource})] += limit.time.value() / steps;
  return sums;
}

std::optional<Meeting> meeting_resource(const LimitedPerStep& together, const LimitedPerStep& alone,
                                        int ranks, Seconds grown,
                                        const std::function<bool(const std::string&)>& shared)
{
  std::string worst;
  double added = 0;
  for (const auto& [resource, time] : together) {
    const auto known = alone.find(resource);
    const double more = time - (known != alone.end() ? known->second : 0);
    if (more > added && shared(resource)) {
      added = more;
      worst = resource;
    }
  }
  if (worst.empty())
    return std::nullopt;
  return Meeting{worst, std::min(grown, Seconds(added / std::max(1, ranks)))};
}

JointScore joint_score(const std::vector<JobResult>& jobs)
{
  JointScore score{0, 0, 0};
  for (const JobResult& job : jobs) {
    const double slowdown = job.slowdown.value_or(1);
    score.gpus += job.gpus;
    score.weighted_slowdown += job.gpus * slowdown;
    score.gpus_lost += job.gpus * std::max(0.0, 1 - 1 / slowdown);
  }
  score.weighted_slowdown /= std::max(1, score.gpus);
  return score;
}

} // namespace foretrain::experiments
