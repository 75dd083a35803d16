#include "experiments/run/uncertainty/not_modelled.hpp"

#include "experiments/run/keep/fingerprint.hpp"
#include "experiments/run/uncertainty/linear_spreads.hpp"
#include "experiments/spec/anchor.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace foretrain::experiments {

double NotModelled::total() const
{
  return std::hypot(common, own);
}

namespace {

// However presets are written: their names, or what stands in them.
Json spelled_out(Json told, const JobSpec& job)
{
  for (const auto& [key, preset, kind] :
       {std::tuple{"framework", &job.framework, &models::kFrameworkKind},
        {"model", &job.model, &models::kNetworkKind},
        {"library", &job.library, &models::kLibraryKind},
        {"optimizer", &job.optimizer, &models::kOptimizerKind}})
    if (*preset && told.contains(key))
      told[key] = resolve_preset(*preset, *kind).json();
  return told;
}

// What names the same job at another scale.
Json without_scale(Json job)
{
  for (const char* scale : {"name", "gpus", "global_batch"})
    job.erase(scale);
  return job;
}

// How the job that was measured differs from this one.
enum class Measured { not_at_all, elsewhere, at_another_scale, itself };

Measured measured(const Point& point, const ResolvedJob& job)
{
  if (!job.spec.anchor)
    return Measured::not_at_all;
  const Json& now = point.document->root;
  const DocumentPtr measured_in = measured_with(point, job.number).document;
  const Json& then = measured_in->root;
  const auto without_factor = [&](const Json& root) { // that the anchor's run has found
    Json of_job = root.at("jobs").at(job.number);
    of_job.erase("kernel_time");
    return of_job;
  };
  const Json own = without_factor(now);
  const Json other = without_factor(then);
  if (now.at("cluster").at("platform") != then.at("cluster").at("platform") ||
      without_scale(own) != without_scale(other))
    return Measured::elsewhere;
  const auto is = [&](const char* key) {
    return own.value(key, Json()) == other.value(key, Json());
  };
  const bool around = now.at("cluster") == then.at("cluster") && !now.contains("better") &&
                      now.value("stack", Json()) == then.value("stack", Json());
  const bool same = around && anchor_gpus(job.spec) == job.spec.gpus &&
                    !job.spec.anchor->batch_per_gpu && is("gpus") && is("global_batch");
  return same ? Measured::itself : Measured::at_another_scale;
}

} // namespace

NotModelled not_modelled(const Point& point, const ResolvedExperiment& experiment, std::size_t job)
{
  const ResolvedJob& it = experiment.jobs[job];
  if (!it.transformer)
    return {};
  const bool experts = it.transformer->model.transformer.experts > 0;
  const double whole = spread_of(experts ? "transformer-experts" : "transformer");
  const double own = std::min(whole, spread_of("transformer-scale"));
  const Json told =
      spelled_out(without_scale(point.document->root.at("jobs").at(it.number)), it.spec);
  const Measured anchor = measured(point, it);
  if (anchor == Measured::itself)
    return {};
  if (anchor == Measured::at_another_scale)
    return {0, own, ""};
  return {std::sqrt(whole * whole - own * own), own,
          checksum(experiment.platform.gpu.name + told.dump())};
}

} // namespace foretrain::experiments
