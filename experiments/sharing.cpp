#include "experiments/sharing.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Seconds per step that resources, by name, limited something the job did, summed over its ranks.
std::map<std::string, double> limited_per_step(const Stage& stage, std::size_t i)
{
  std::map<std::string, double> sums;
  const models::TrainingJob& job = stage.job(i);
  const double steps = std::max<double>(1, static_cast<double>(job.step_times().size()));
  for (const sim::LimitedBy& limit : job.all_limits())
    if (limit.resource >= 0)
      sums[stage.engine().name({limit.resource})] += limit.time.value() / steps;
  return sums;
}

} // namespace

std::optional<Meeting> meeting_resource(const Stage& together, std::size_t i, const Stage& alone)
{
  const auto before = limited_per_step(alone, 0);
  std::string worst;
  double added = 0;
  for (const auto& [resource, time] : limited_per_step(together, i)) {
    const auto known = before.find(resource);
    const double more = time - (known != before.end() ? known->second : 0);
    if (more > added) {
      added = more;
      worst = resource;
    }
  }
  if (worst.empty())
    return std::nullopt;
  return Meeting{worst, Seconds(added / std::max(1, together.job(i).setup().ranks))};
}

} // namespace foretrain::experiments
