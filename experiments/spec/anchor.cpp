#include "experiments/spec/anchor.hpp"

#include "experiments/spec/transformer_setting.hpp"

#include <algorithm>
#include <iterator>

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
  const std::string anchor = fmt::format("/jobs/{}/anchor", job);
  const Json::json_pointer at(anchor);
  const auto& changes = point.document->overridden;
  const bool given = std::any_of(changes.begin(), changes.end(), [&](const auto& it) {
    return it.second != kVaried && (is_within(it.first, anchor) || is_within(anchor, it.first));
  });
  if (!point.anchored || given || !point.anchored->root.contains(at))
    return point;
  auto document = std::make_shared<Document>(*point.anchored);
  document->overlay = point.document->overlay; // what an interval's runs vary
  document->root.at(at) = point.document->root.at(at);
  return {{}, std::move(document), point.profiles};
}

std::optional<Point> measured_elsewhere(const Point& point, const JobSpec& spec, std::size_t job)
{
  if (!spec.anchor || anchored_by_runs(spec))
    return {};
  const Point then = measured_with(point, job);
  const auto says = [job](const Point& of, const char* pointer) {
    const Json::json_pointer at(fmt::format(fmt::runtime(pointer), job));
    return of.document->root.contains(at) ? of.document->root.at(at) : Json();
  };
  static constexpr const char* kOfKernels[] = {
      "/cluster/platform", "/stack/host",        "/jobs/{}/stack/host",
      "/jobs/{}/model",    "/jobs/{}/framework", "/jobs/{}/precision",
      "/jobs/{}/dataset",  "/jobs/{}/mode",      "/jobs/{}/batch_per_gpu"};
  const bool same = then.document == point.document ||
                    std::all_of(std::begin(kOfKernels), std::end(kOfKernels),
                                [&](const char* it) { return says(then, it) == says(point, it); });
  if (same || anchored_by_runs(read_point(then).jobs[job]))
    return {};
  return then;
}

} // namespace foretrain::experiments
