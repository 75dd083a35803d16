#include "experiments/run/gains.hpp"

#include "experiments/run/levers.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr int kStepsOfGains = 4;
constexpr double kFelt = 1e-3;        // gain of a lever that does something
constexpr double kClearlyMore = 0.01; // gain by which another lever must be ahead

using Group = std::vector<const Lever*>;

class Doubled {
public:
  /// `named`: levers that are likely, because what the step waits for belongs to them.
  Doubled(const ResolvedExperiment& experiment, const RunOptions& options, Group named)
      : experiment_(experiment), options_(options),
        base_(throughputs_with(experiment, {}, 1, options, kStepsOfGains)), most_(base_.size(), 0.0)
  {
    Group others;
    for (const Lever& lever : levers())
      if (std::find(named.begin(), named.end(), &lever) == named.end())
        others.push_back(&lever);
    for (const Lever* lever : named)
      halve({lever});
    halve(others);
  }

  /// 0 for what was not worth asking.
  double gain(const Lever* lever, std::size_t job) const
  {
    for (const auto& [of, gains] : gains_)
      if (of == lever)
        return gains[job];
    return 0;
  }
  const Lever* best(std::size_t job) const
  {
    const Lever* best = nullptr;
    for (const auto& [lever, gains] : gains_)
      if (gains[job] > kFelt && (best == nullptr || gains[job] > gain(best, job)))
        best = lever;
    return best;
  }

private:
  // What brings no more together than the best so far brings alone holds no better one.
  void halve(const Group& group)
  {
    std::vector<double> gains = throughputs_with(experiment_, group, 2, options_, kStepsOfGains);
    bool more = false;
    for (std::size_t i = 0; i < gains.size(); ++i) {
      gains[i] = gains[i] / base_[i] - 1;
      more |= gains[i] > most_[i] + kClearlyMore;
    }
    if (group.size() == 1) {
      for (std::size_t i = 0; i < gains.size(); ++i)
        most_[i] = std::max(most_[i], gains[i]);
      gains_.emplace_back(group.front(), std::move(gains));
      return;
    }
    if (!more)
      return;
    const auto middle = group.begin() + static_cast<std::ptrdiff_t>(group.size() / 2);
    halve({group.begin(), middle});
    halve({middle, group.end()});
  }

  const ResolvedExperiment& experiment_;
  const RunOptions& options_;
  std::vector<double> base_;
  std::vector<double> most_; // of any single lever so far, by job
  std::vector<std::pair<const Lever*, std::vector<double>>> gains_;
};

// The busiest resource that a lever is about, else what people call the lever.
void name_instead(const Lever& lever, JobResult& job)
{
  job.bottleneck.resource = lever.name;
  job.bottleneck.utilisation = 0;
  for (const ResourceUse& use : job.busiest)
    if (lever_of(use.resource) == &lever) {
      job.bottleneck.resource = use.resource;
      job.bottleneck.utilisation = use.utilisation;
      break;
    }
}

} // namespace

void add_gains(const ResolvedExperiment& experiment, const RunOptions& options, PointResult& result)
{
  Group awaited;
  for (const JobResult& job : result.jobs)
    if (const Lever* lever = lever_of(job.bottleneck.resource);
        lever != nullptr && std::find(awaited.begin(), awaited.end(), lever) == awaited.end())
      awaited.push_back(lever);
  const Doubled doubled(experiment, options, awaited);
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    JobResult& job = result.jobs[i];
    const Lever* named = lever_of(job.bottleneck.resource);
    const Lever* best = doubled.best(i);
    const double own = named != nullptr ? doubled.gain(named, i) : 0;
    if (best == nullptr || doubled.gain(best, i) <= own + kClearlyMore) {
      job.bottleneck.gain_if_doubled = std::max(0.0, own);
      job.bottleneck.doubled = named != nullptr ? named->better : "";
      continue;
    }
    job.bottleneck.gain_if_doubled = doubled.gain(best, i);
    job.bottleneck.doubled = best->better;
    if (named != nullptr) // else it is a limit of its own, like threads that nobody can double
      name_instead(*best, job);
    job.bottleneck.why += fmt::format("; {} would bring most: {:+.0f} %", best->better,
                                      100 * *job.bottleneck.gain_if_doubled);
  }
}

} // namespace foretrain::experiments
