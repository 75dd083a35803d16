#include "experiments/run/keep/result_json.hpp"

namespace foretrain::experiments {

void check_fields(const Value& at, const PointResult& point)
{
  if (point.error.empty() && point.jobs.empty())
    at.fail_at("jobs", "is missing");
}

Json to_json(const PointResult& point)
{
  return written(point);
}

Json settings_json(const Settings& settings)
{
  return written(settings);
}

} // namespace foretrain::experiments
