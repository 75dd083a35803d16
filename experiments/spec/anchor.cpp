#include "experiments/spec/anchor.hpp"

#include "experiments/spec/transformer_setting.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

int anchor_gpus(const JobSpec& job)
{
  return job.anchor->gpus.value_or(has_transformer(job) ? job.gpus : 1);
}

bool anchored_by_runs(const JobSpec& job)
{
  return job.anchor && !job.program && (has_transformer(job) || anchor_gpus(job) > 1);
}

Point measured_with(const Point& point, std::size_t job)
{
  const Json::json_pointer anchor(fmt::format("/jobs/{}/anchor", job));
  if (!point.anchored || !point.anchored->root.contains(anchor) ||
      point.anchored->root.at(anchor) != point.document->root.at(anchor))
    return point;
  auto document = std::make_shared<Document>(*point.anchored);
  document->overlay = point.document->overlay; // what an interval's runs vary
  return {{}, std::move(document), point.profiles};
}

} // namespace foretrain::experiments
