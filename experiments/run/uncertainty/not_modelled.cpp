#include "experiments/run/uncertainty/not_modelled.hpp"

#include "experiments/run/keep/fingerprint.hpp"
#include "experiments/run/uncertainty/linear_spreads.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::experiments {

double NotModelled::total() const
{
  return std::hypot(common, own);
}

NotModelled not_modelled(const Point& point, const ResolvedExperiment& experiment, std::size_t job)
{
  const ResolvedJob& it = experiment.jobs[job];
  if (!it.transformer)
    return {};
  const bool experts = it.transformer->model.transformer.experts > 0;
  const double whole = spread_of(experts ? "transformer-experts" : "transformer");
  const double own = std::min(whole, spread_of("transformer-scale"));
  Json told = point.document->root.at("jobs").at(it.number);
  for (const char* scale : {"name", "gpus", "global_batch"})
    told.erase(scale);
  return {std::sqrt(whole * whole - own * own), own,
          checksum(experiment.platform.gpu.name + told.dump())};
}

} // namespace foretrain::experiments
