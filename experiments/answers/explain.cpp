#include "experiments/answers/explain.hpp"

#include "experiments/run/limits/gains.hpp"
#include "experiments/run/limits/lever_sets.hpp"
#include "experiments/run/limits/pulled.hpp"
#include "experiments/run/limits/resource_words.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/run/simulate/anchor_runs.hpp"
#include "experiments/spec/resolve.hpp"
#include "platforms/link_words.hpp"
#include "sim/base/text.hpp"
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
    std::vector<std::vector<double>> doubled;
    for (const Lever& lever : all) {
      const auto with = [&](double factor) {
        return gains_over(base_, throughputs_with(experiment_, {&lever}, factor, options_.run));
      };
      pulled_.push_back({&lever, with(kTenPercent), with(2)});
      doubled.push_back(pulled_.back().doubled);
      tell();
    }
    sets_ = sets_that_help(experiment_, base_, doubled, options_.run, [this] { tell(); });
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

  /// Several at once that bring job `i` more than one by one.
  std::vector<TogetherGain> sets_of_job(std::size_t i) const
  {
    const sim::GpuVendor vendor = experiment_.platform.gpu.vendor;
    std::vector<TogetherGain> list;
    for (const LeverSet& set : sets_[i]) {
      TogetherGain& gain = list.emplace_back();
      std::vector<std::string> words;
      for (const Lever* lever : set.levers) {
        gain.levers.emplace_back(lever->key);
        words.push_back(platforms::link_words(lever->better, vendor));
      }
      gain.doubled = joined(words, " and ");
      gain.twice = set.gain;
    }
    return list;
  }

private:
  void tell()
  {
    if (options_.progress)
      options_.progress(++told_, 2 * static_cast<int>(levers().size()) + kMostSets);
  }

  const ResolvedExperiment& experiment_;
  const ExplainOptions& options_;
  const std::vector<double>& base_;
  std::vector<Pulled> pulled_;
  std::vector<std::vector<LeverSet>> sets_; // by job
  int told_ = 0;
};

// Of links that limit only together.
LeverGain together(const Bottleneck& limit, std::size_t job, const ResolvedExperiment& experiment,
                   const std::vector<double>& base, const RunOptions& options)
{
  std::vector<std::string> keys;
  for (const Lever* lever : limit.tight)
    keys.emplace_back(lever->key);
  const auto slightly =
      gains_over(base, throughputs_with(experiment, limit.tight, kTenPercent, options));
  return {joined(keys, "+"), limit.name, limit.doubled, slightly[job], *limit.gain_if_doubled};
}

} // namespace

Explanation explain(const LoadedExperiment& experiment, std::size_t number,
                    const ExplainOptions& options)
{
  const Point point = with_anchors(experiment.points[number], options.run);
  Explanation answer{experiment.spec.name, version(), options.run.seed,
                     options.run.fidelity, number,    experiment.points.size(),
                     point.settings,       {},        {}};
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
    job.together = ranking.sets_of_job(i);
    if (!limit.tight.empty())
      job.limited_by = together(limit, i, resolved, base, same.run);
    for (const LeverGain& lever : job.levers)
      if (limit.tight.empty() && limit.lever != nullptr && *limit.gain_if_doubled > kNoGain &&
          lever.lever == limit.lever->key) {
        job.limited_by = lever;
        job.limited_by->name = limit.label(); // a bubble, which GPUs twice as fast would halve
      }
    job.swaps = std::move(swaps[i]);
  }
  answer.warnings = std::move(predicted.warnings);
  return answer;
}

} // namespace foretrain::experiments
