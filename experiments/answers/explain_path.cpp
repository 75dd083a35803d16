#include "experiments/answers/explain_path.hpp"

#include "experiments/run/keep/step_parts.hpp"
#include "experiments/run/limits/resource_words.hpp"
#include "experiments/run/simulate/stage.hpp"
#include "platforms/link_words.hpp"

#include <algorithm>
#include <map>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kLimitsTold = 3;
constexpr double kLeastShare = 0.02; // of the part

// `own`: what it is when no shared resource limits something.
std::vector<PathLimit> told_limits(const sim::Engine& engine, sim::GpuVendor vendor,
                                   const std::vector<sim::LimitedBy>& limits,
                                   const std::string& own)
{
  struct Sum {
    std::string name, words;
    double time = 0;
  };
  std::map<std::string, Sum> by_name;
  double all = 0;
  for (const sim::LimitedBy& limit : limits) {
    Sum named{own, own};
    if (limit.resource >= 0) {
      const sim::Resource resource = engine.resource({limit.resource});
      named = {sim::name_of(resource), platforms::link_words(resource_words(resource), vendor)};
    }
    by_name.try_emplace(named.name, named).first->second.time += limit.time.value();
    all += limit.time.value();
  }
  std::vector<Sum> order;
  for (const auto& [name, sum] : by_name)
    order.push_back(sum);
  std::stable_sort(order.begin(), order.end(),
                   [](const Sum& a, const Sum& b) { return a.time > b.time; });
  std::vector<PathLimit> list;
  for (const Sum& sum : order)
    if (list.size() < kLimitsTold && sum.time > kLeastShare * all)
      list.push_back({sum.name, sum.words, sum.time / all});
  return list;
}

// Of the last stage of the input, which copies a batch to the GPU, or of those before it.
std::vector<sim::LimitedBy> input_limits(const models::Job& job, bool copies)
{
  std::vector<sim::LimitedBy> limits;
  for (const auto& pipeline : job.input()) {
    const auto& stages = pipeline->uses();
    for (std::size_t i = 0; i < stages.size(); ++i)
      if ((i + 1 == stages.size()) == copies)
        limits.insert(limits.end(), stages[i].limits.begin(), stages[i].limits.end());
  }
  return limits;
}

// What a part of the step waits for; nothing for those that no resource limits.
std::vector<PathLimit> limits_of(const sim::Engine& engine, sim::GpuVendor vendor,
                                 const models::Job& job, Seconds models::StepTimes::*part)
{
  using Times = models::StepTimes;
  if (part == &Times::compute)
    return told_limits(engine, vendor, job.compute_limits(), "the GPUs");
  if (part == &Times::exposed_communication)
    return told_limits(engine, vendor, job.communication_limits(),
                       "cap of a connection or protocol");
  if (part == &Times::input_stall)
    return told_limits(engine, vendor, input_limits(job, false),
                       "threads or connections of the input");
  if (part == &Times::host_to_device)
    return told_limits(engine, vendor, input_limits(job, true), "cap of a copy");
  return {};
}

std::vector<PathPart> path_of(const sim::Engine& engine, sim::GpuVendor vendor,
                              const models::Job& job)
{
  const models::StepTimes times = job.mean_times();
  std::vector<PathPart> path;
  for (const StepPart& part : kStepParts)
    if (const Seconds time = times.*part.time; time.value() > 1e-6 * times.total().value())
      path.push_back(
          {part.key, time, time / times.total(), limits_of(engine, vendor, job, part.time)});
  std::stable_sort(path.begin(), path.end(),
                   [](const PathPart& a, const PathPart& b) { return a.time > b.time; });
  return path;
}

} // namespace

std::vector<StepPath> critical_paths(const ResolvedExperiment& experiment,
                                     const RunOptions& options)
{
  RunOptions looking = options;
  looking.keep_limits = true;
  Stage stage(experiment, looking);
  stage.run();
  std::vector<StepPath> jobs;
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i) {
    const models::Job& job = stage.job(i);
    jobs.push_back({experiment.jobs[i].spec.name, static_cast<int>(experiment.jobs[i].ranks.size()),
                    job.mean_times().total(),
                    path_of(stage.engine(), experiment.platform.gpu.vendor, job)});
  }
  return jobs;
}

} // namespace foretrain::experiments
