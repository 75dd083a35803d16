#include "experiments/answers/explain_large.hpp"

#include "experiments/answers/explain_swaps.hpp"
#include "experiments/run/large_scenario.hpp"
#include "experiments/spec/large_job.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::experiments {

namespace {

struct LargeLever {
  const char* key;
  const char* name;
  const char* better;
  void (*apply)(LargeExperiment&, double factor);
};

const LargeLever kLargeLevers[] = {
    {"arithmetic", "arithmetic of the GPUs", "arithmetic of the GPUs twice as fast",
     [](LargeExperiment& e, double factor) {
       models::TransformerDevice& device = e.job.setting.device;
       for (double* peak : {&device.half.peak, &device.fp8.peak, &device.attention.peak})
         *peak *= factor;
     }},
    {"gpu-memory", "memory bandwidth of the GPUs", "memory of the GPUs twice as fast",
     [](LargeExperiment& e, double factor) {
       models::TransformerDevice& device = e.job.setting.device;
       for (double* rate : {&device.half.memory, &device.fp8.memory, &device.attention.memory})
         *rate *= factor;
       device.memory *= factor;
     }},
    {"nvlink", "NVLink", "NVLink twice as fast",
     [](LargeExperiment& e, double factor) { e.platform.gpu.nvlink_brick *= factor; }},
    {"nic", "network adapters", "network adapters twice as fast",
     [](LargeExperiment& e, double factor) {
       for (platforms::Nic& nic : e.platform.nics)
         nic.rate *= factor;
     }},
    {"host-link", "link between GPU and host memory", "link to host memory twice as fast",
     [](LargeExperiment& e, double factor) { e.job.setting.host_link *= factor; }},
    {"launches", "the host's launches", "launches of kernels twice as quick",
     [](LargeExperiment& e, double factor) {
       models::StepSetting& s = e.job.setting;
       for (Seconds* time : {&s.device.host_per_kernel, &s.rules.host_per_layer,
                             &s.rules.host_per_exchange, &s.overhead})
         *time = *time / factor;
     }},
};

Json large_path(const JobResult& job)
{
  const std::pair<const char*, Seconds> parts[] = {{"compute", job.time.compute},
                                                   {"recompute", job.time.recompute},
                                                   {"bubble", job.time.bubble},
                                                   {"straggler_wait", job.time.straggler_wait},
                                                   {"framework", job.time.framework}};
  Json path = Json::array();
  const double step = job.time.total().value();
  const auto add = [&](const std::string& name, double time) {
    if (time > 1e-6 * step)
      path.push_back({{"part", name},
                      {"time_s", time},
                      {"share", time / step},
                      {"limited_by", Json::array()}});
  };
  for (const auto& [name, time] : parts)
    add(name, time.value());
  for (const auto& [group, time] : job.exposed_by_group)
    add("exposed_communication_" + std::string(group), time.value());
  std::stable_sort(path.begin(), path.end(),
                   [](const Json& a, const Json& b) { return a.at("time_s") > b.at("time_s"); });
  return path;
}

Json swaps_of(const Point& point, const LargeExperiment& e, double base, const RunOptions& options)
{
  std::vector<std::pair<std::string, std::vector<std::string>>> choices{
      {"/stack/host", preset_names(platforms::kHostKind)},
      {"/jobs/0/recompute", {"none", "selective", "full"}}};
  if (e.nodes > 1)
    choices.emplace_back("/stack/network", transports_between_nodes(Value(point.document)));
  Json swaps = Json::array();
  for (const auto& [pointer, names] : choices) {
    const Json::json_pointer at(pointer);
    const Json now = point.document->root.contains(at) ? point.document->root.at(at) : Json();
    for (const std::string& name : names) {
      if (now == name)
        continue;
      try {
        auto document = std::make_shared<Document>(*point.document);
        set_in_experiment(*document, pointer, name, "explain");
        const Point changed{point.settings, std::move(document), point.profiles};
        const LargeExperiment other = resolve_large(changed);
        if (!fits(other) && fits(e))
          continue;
        const double gain = large_throughput(other, options) / base - 1;
        if (std::abs(gain) > kNoGain)
          swaps.push_back({{"pointer", pointer}, {"from", now}, {"to", name}, {"gain", gain}});
      } catch (const ConfigError&) { // it does not fit this machine
        continue;
      }
    }
  }
  std::stable_sort(swaps.begin(), swaps.end(),
                   [](const Json& a, const Json& b) { return a.at("gain") > b.at("gain"); });
  return swaps;
}

} // namespace

Json explained_large_job(const Point& point, const ExplainOptions& options)
{
  const LargeExperiment e = resolve_large(point);
  const JobResult result = run_large_point(point, options.run).jobs.front();
  const double base = large_throughput(e, options.run);
  Json levers = Json::array();
  int done = 0;
  for (const LargeLever& lever : kLargeLevers) {
    const auto gain = [&](double factor) {
      LargeExperiment changed = e;
      lever.apply(changed, factor);
      return large_throughput(changed, options.run) / base - 1;
    };
    levers.push_back({{"lever", lever.key},
                      {"name", lever.name},
                      {"doubled", lever.better},
                      {"gain_if_10_percent_better", gain(kTenPercent)},
                      {"gain_if_doubled", gain(2)}});
    if (options.progress)
      options.progress(++done, static_cast<int>(std::size(kLargeLevers)));
  }
  std::stable_sort(levers.begin(), levers.end(), [](const Json& a, const Json& b) {
    return a.at("gain_if_doubled") > b.at("gain_if_doubled");
  });
  return {{"name", result.name},
          {"gpus", result.gpus},
          {"throughput_samples_per_s", base},
          {"step_time_s", result.time.total().value()},
          {"waits_for",
           {{"resource", result.bottleneck.resource},
            {"name", result.bottleneck.resource},
            {"why", result.bottleneck.why}}},
          {"critical_path", large_path(result)},
          {"limited_by", levers.front().at("gain_if_doubled") > kNoGain ? levers.front() : Json()},
          {"levers", levers},
          {"swaps", options.swaps ? swaps_of(point, e, base, options.run) : Json::array()}};
}

} // namespace foretrain::experiments
