#include "experiments/answers/explain.hpp"

#include "experiments/answers/explain_path.hpp"
#include "experiments/answers/explain_swaps.hpp"
#include "experiments/run/keep/result_json.hpp"
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

// Gains of each job when a lever is pulled.
struct Pulled {
  const Lever* lever;
  std::vector<double> slightly;
  std::vector<double> doubled;
};

std::vector<double> gains(const std::vector<double>& rates, const std::vector<double>& base)
{
  std::vector<double> gains;
  for (std::size_t i = 0; i < rates.size(); ++i)
    gains.push_back(rates[i] / base[i] - 1);
  return gains;
}

class Ranking {
public:
  Ranking(const ResolvedExperiment& experiment, const ExplainOptions& options,
          const std::vector<double>& base)
      : experiment_(experiment), options_(options), base_(base)
  {
    const auto all = levers();
    for (const Lever& lever : all) {
      const auto with = [&](double factor) {
        return gains(throughputs_with(experiment_, {&lever}, factor, options_.run, kStepsOfGains),
                     base_);
      };
      pulled_.push_back({&lever, with(kTenPercent), with(2)});
      if (options_.progress)
        options_.progress(static_cast<int>(pulled_.size()), static_cast<int>(all.size()));
    }
  }

  /// Those that job `i` feels, the best first.
  Json of_job(std::size_t i) const
  {
    std::vector<const Pulled*> order;
    for (const Pulled& it : pulled_)
      order.push_back(&it);
    std::stable_sort(order.begin(), order.end(), [i](const Pulled* a, const Pulled* b) {
      return a->doubled[i] > b->doubled[i];
    });
    const sim::GpuVendor vendor = experiment_.platform.gpu.vendor;
    Json list = Json::array();
    for (const Pulled* it : order)
      list.push_back({{"lever", it->lever->key},
                      {"name", platforms::link_words(it->lever->name, vendor)},
                      {"doubled", platforms::link_words(it->lever->better, vendor)},
                      {"gain_if_10_percent_better", it->slightly[i]},
                      {"gain_if_doubled", it->doubled[i]}});
    return list;
  }

private:
  const ResolvedExperiment& experiment_;
  const ExplainOptions& options_;
  const std::vector<double>& base_;
  std::vector<Pulled> pulled_;
};

} // namespace

Json explain(const LoadedExperiment& experiment, std::size_t number, const ExplainOptions& options)
{
  const Point point = with_anchors(experiment.points[number], options.run);
  Json answer = {{"experiment", experiment.spec.name},
                 {"version", version()},
                 {"seed", options.run.seed},
                 {"fidelity", word_of(options.run.fidelity)},
                 {"point", number},
                 {"points", experiment.points.size()},
                 {"settings", settings_json(point.settings)},
                 {"jobs", Json::array()}};
  const ResolvedExperiment resolved = resolve(point);
  ExplainOptions same = options;
  same.run.uncertainty.method = UncertaintyMethod::steps;
  PointResult predicted = run_point(point, same.run);
  same.run.late = predicted.late;
  if (!predicted.jobs.front().bottleneck.gain_if_doubled) {
    add_gains(resolved, same.run, predicted);
    use_link_words(resolved.platform.gpu.vendor, predicted);
  }
  const auto base = throughputs_with(resolved, {}, 1, same.run, kStepsOfGains);
  const Ranking ranking(resolved, same, base);
  const Json paths = critical_paths(resolved, same.run);
  const Json swaps =
      options.swaps ? swapped(point, resolved, base, same.run, kStepsOfGains) : Json::array();
  for (std::size_t i = 0; i < resolved.jobs.size(); ++i) {
    Json levers = ranking.of_job(i);
    const Bottleneck& limit = predicted.jobs[i].bottleneck;
    Json job = paths[i];
    job["throughput_samples_per_s"] = predicted.jobs[i].throughput.median;
    job["fits"] = predicted.jobs[i].memory.fits();
    if (const auto& later = predicted.jobs[i].later_epochs)
      job["later_epochs_samples_per_s"] = later->throughput.median;
    job["waits_for"] = {{"resource", limit.resource}, {"name", limit.words}, {"why", limit.why}};
    job["limited_by"] = Json();
    for (const Json& lever : levers)
      if (limit.lever != nullptr && *limit.gain_if_doubled > kNoGain &&
          lever.at("lever") == limit.lever->key)
        job["limited_by"] = lever;
    if (!limit.ties.empty())
      job["ties"] = limit.ties;
    job["levers"] = std::move(levers);
    job["swaps"] = Json::array();
    for (const Json& swap : swaps) {
      if (!concerns(swap, i))
        continue;
      Json of_job = swap;
      of_job["gain"] = swap.at("gains")[i];
      of_job.erase("gains");
      job["swaps"].push_back(std::move(of_job));
    }
    std::stable_sort(job["swaps"].begin(), job["swaps"].end(),
                     [](const Json& a, const Json& b) { return a.at("gain") > b.at("gain"); });
    answer["jobs"].push_back(std::move(job));
  }
  return answer;
}

} // namespace foretrain::experiments
