#include "experiments/answers/explain.hpp"

#include "experiments/run/limits/gains.hpp"
#include "experiments/run/limits/pulled.hpp"
#include "experiments/run/limits/resource_words.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/run/simulate/anchor_runs.hpp"
#include "experiments/spec/resolve.hpp"
#include "platforms/link_words.hpp"
#include "sim/base/version.hpp"

#include <algorithm>

namespace foretrain::experiments {

namespace {

constexpr double kTenPercent = 1.1; // better

// Gains of each job when a lever is pulled.
struct Pulled {
  const Lever* lever;
  std::vector<double> slightly;
  std::vector<double> doubled;
};

class Ranking {
public:
  Ranking(const ResolvedExperiment& experiment, const ExplainOptions& options,
          const std::vector<double>& base)
      : experiment_(experiment), options_(options), base_(base)
  {
    const auto all = levers();
    for (const Lever& lever : all) {
      const auto with = [&](double factor) {
        return gains_over(base_, throughputs_with(experiment_, {&lever}, factor, options_.run));
      };
      pulled_.push_back({&lever, with(kTenPercent), with(2)});
      if (options_.progress)
        options_.progress(static_cast<int>(pulled_.size()), static_cast<int>(all.size()));
    }
  }

  /// Those that job `i` feels, the best first.
  std::vector<LeverGain> of_job(std::size_t i) const
  {
    std::vector<const Pulled*> order;
    for (const Pulled& it : pulled_)
      order.push_back(&it);
    std::stable_sort(order.begin(), order.end(), [i](const Pulled* a, const Pulled* b) {
      return a->doubled[i] > b->doubled[i];
    });
    const sim::GpuVendor vendor = experiment_.platform.gpu.vendor;
    std::vector<LeverGain> list;
    for (const Pulled* it : order)
      list.push_back({it->lever->key, platforms::link_words(it->lever->name, vendor),
                      platforms::link_words(it->lever->better, vendor), it->slightly[i],
                      it->doubled[i]});
    return list;
  }

private:
  const ResolvedExperiment& experiment_;
  const ExplainOptions& options_;
  const std::vector<double>& base_;
  std::vector<Pulled> pulled_;
};

} // namespace

Explanation explain(const LoadedExperiment& experiment, std::size_t number,
                    const ExplainOptions& options)
{
  const Point point = with_anchors(experiment.points[number], options.run);
  Explanation answer{experiment.spec.name, version(), options.run.seed,
                     options.run.fidelity, number,    experiment.points.size(),
                     point.settings,       {}};
  const ResolvedExperiment resolved = resolve(point);
  ExplainOptions same = options;
  same.run.uncertainty.method = UncertaintyMethod::steps;
  PointResult predicted = run_point(point, same.run);
  same.run.late = predicted.late;
  if (!predicted.jobs.front().bottleneck.gain_if_doubled) {
    add_gains(resolved, same.run, predicted);
    use_link_words(resolved.platform.gpu.vendor, predicted);
  }
  const auto base = throughputs_with(resolved, {}, 1, same.run);
  const Ranking ranking(resolved, same, base);
  std::vector<StepPath> paths = critical_paths(resolved, same.run);
  std::vector<std::vector<SwapGain>> swaps(base.size());
  if (options.swaps)
    swaps = swapped(point, resolved, base, same.run);
  for (std::size_t i = 0; i < resolved.jobs.size(); ++i) {
    const JobResult& of = predicted.jobs[i];
    const Bottleneck& limit = of.bottleneck;
    ExplainedJob& job = answer.jobs.emplace_back();
    job.path = std::move(paths[i]);
    job.throughput = of.throughput.median;
    job.fits = of.memory.fits();
    if (of.later_epochs)
      job.later_epochs = of.later_epochs->throughput.median;
    job.waits_for = {limit.resource, limit.words, limit.why};
    job.ties = limit.ties;
    job.levers = ranking.of_job(i);
    for (const LeverGain& lever : job.levers)
      if (limit.lever != nullptr && *limit.gain_if_doubled > kNoGain &&
          lever.lever == limit.lever->key)
        job.limited_by = lever;
    job.swaps = std::move(swaps[i]);
  }
  return answer;
}

} // namespace foretrain::experiments
