#include "experiments/run/simulate/sharing.hpp"

#include <algorithm>

namespace foretrain::experiments {

LimitedPerStep limited_per_step(const models::Job& job, const sim::Engine& engine)
{
  LimitedPerStep sums;
  const double steps = std::max<double>(1, static_cast<double>(job.step_times().size()));
  for (const sim::LimitedBy& limit : job.all_limits())
    if (limit.resource >= 0) {
      const sim::Resource resource = engine.resource({limit.resource});
      Limited& sum = sums.try_emplace(sim::name_of(resource), Limited{resource}).first->second;
      sum.per_step += limit.time.value() / steps;
    }
  return sums;
}

std::optional<Meeting> meeting_resource(const LimitedPerStep& together, const LimitedPerStep& alone,
                                        int ranks, Seconds grown,
                                        const std::function<bool(const sim::Resource&)>& shared)
{
  std::string worst;
  double added = 0;
  for (const auto& [name, limited] : together) {
    const auto known = alone.find(name);
    const double more = limited.per_step - (known != alone.end() ? known->second.per_step : 0);
    if (more > added && shared(limited.resource)) {
      added = more;
      worst = name;
    }
  }
  if (worst.empty())
    return std::nullopt;
  return Meeting{worst, std::min(grown, Seconds(added / std::max(1, ranks)))};
}

JointScore joint_score(const std::vector<JobResult>& jobs)
{
  JointScore score{0, {}, 0, 0};
  Range ends{0, 0, 0, 0};
  for (const JobResult& job : jobs) {
    const double slowdown = job.slowdown.value_or(1);
    score.gpus += job.gpus;
    score.weighted_slowdown += job.gpus * slowdown;
    score.gpus_lost += job.gpus * std::max(0.0, 1 - 1 / slowdown);
    if (const auto& range = job.slowdown_range) {
      ends.low += job.gpus * range->low;
      ends.high += job.gpus * range->high;
      ends.interval = range->interval;
    }
  }
  const double gpus = std::max(1, score.gpus);
  score.weighted_slowdown /= gpus;
  const auto ranged = [](const JobResult& job) { return job.slowdown_range.has_value(); };
  if (std::all_of(jobs.begin(), jobs.end(), ranged))
    score.weighted_slowdown_range =
        Range{score.weighted_slowdown, ends.low / gpus, ends.high / gpus, ends.interval};
  return score;
}

} // namespace foretrain::experiments
