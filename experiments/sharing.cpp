#include "experiments/sharing.hpp"

#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Seconds per step that resources limited something the job did, summed over its ranks.
std::map<int, double> limited_per_step(const models::TrainingJob& job)
{
  std::map<int, double> sums;
  const double steps = std::max<double>(1, static_cast<double>(job.step_times().size()));
  for (const sim::LimitedBy& limit : job.all_limits())
    if (limit.resource >= 0)
      sums[limit.resource] += limit.time.value() / steps;
  return sums;
}

} // namespace

std::optional<Meeting> meeting_resource(const Stage& together, std::size_t i, const Stage& alone)
{
  // Resources of machine and storage have the same numbers in both; core sets come after them.
  const auto shared = limited_per_step(together.job(i));
  const auto before = limited_per_step(alone.job(0));
  int worst = -1;
  double added = 0;
  for (const auto& [resource, time] : shared) {
    const bool same = resource < alone.engine().resource_count() &&
                      alone.engine().name({resource}) == together.engine().name({resource});
    const auto known = before.find(resource);
    const double more = time - (same && known != before.end() ? known->second : 0);
    if (more > added) {
      added = more;
      worst = resource;
    }
  }
  if (worst < 0)
    return std::nullopt;
  const double per_rank = added / std::max(1, together.job(i).setup().ranks);
  Meeting meeting;
  meeting.resource = together.engine().name({worst});
  meeting.added = Seconds(per_rank);
  return meeting;
}

} // namespace foretrain::experiments
