#include "experiments/answers/explain_path.hpp"

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
Json limits_json(const sim::Engine& engine, sim::GpuVendor vendor,
                 const std::vector<sim::LimitedBy>& limits, const std::string& own)
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
  Json list = Json::array();
  for (const Sum& sum : order)
    if (list.size() < kLimitsTold && sum.time > kLeastShare * all)
      list.push_back({{"resource", sum.name}, {"name", sum.words}, {"share", sum.time / all}});
  return list;
}

std::vector<sim::LimitedBy> input_limits(const models::Job& job)
{
  std::vector<sim::LimitedBy> limits;
  for (const auto& pipeline : job.input())
    for (const auto& use : pipeline->uses())
      limits.insert(limits.end(), use.limits.begin(), use.limits.end());
  return limits;
}

Json path_of(const sim::Engine& engine, sim::GpuVendor vendor, const models::Job& job)
{
  const models::StepTimes t = job.mean_times();
  const Json nothing = Json::array();
  const Json input =
      limits_json(engine, vendor, input_limits(job), "threads or connections of the input");
  const std::tuple<const char*, Seconds, Json> parts[] = {
      {"compute", t.compute, limits_json(engine, vendor, job.compute_limits(), "the GPUs")},
      {"exposed_communication", t.exposed_communication,
       limits_json(engine, vendor, job.communication_limits(), "cap of a connection or protocol")},
      {"input_stall", t.input_stall, input},
      {"host_to_device", t.host_to_device, input},
      {"straggler_wait", t.straggler_wait, nothing},
      {"framework", t.framework, nothing},
      {"bubble", t.bubble, nothing},
      {"recompute", t.recompute, nothing}};
  Json path = Json::array();
  for (const auto& [name, time, limits] : parts)
    if (time.value() > 1e-6 * t.total().value())
      path.push_back({{"part", name},
                      {"time_s", time.value()},
                      {"share", time / t.total()},
                      {"limited_by", limits}});
  std::stable_sort(path.begin(), path.end(),
                   [](const Json& a, const Json& b) { return a.at("time_s") > b.at("time_s"); });
  return path;
}

} // namespace

Json critical_paths(const ResolvedExperiment& experiment, const RunOptions& options)
{
  RunOptions looking = options;
  looking.keep_limits = true;
  Stage stage(experiment, looking);
  stage.run();
  Json jobs = Json::array();
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i) {
    const models::Job& job = stage.job(i);
    jobs.push_back(
        {{"name", experiment.jobs[i].spec.name},
         {"gpus", experiment.jobs[i].ranks.size()},
         {"step_time_s", job.mean_times().total().value()},
         {"critical_path", path_of(stage.engine(), experiment.platform.gpu.vendor, job)}});
  }
  return jobs;
}

} // namespace foretrain::experiments
