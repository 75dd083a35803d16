#include "experiments/spec/large_job.hpp"

#include "experiments/spec/idle_keys.hpp"
#include "experiments/spec/resolve.hpp"
#include "experiments/spec/transformer_setting.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Launchers start equally many processes on each node: on as few as can be where groups of
// tensor-parallel GPUs stay together; else nodes are filled in turn.
int even_share(const JobSpec& spec, int per_node, int nodes)
{
  const int tensor = spec.parallel.value_or(models::ParallelPlan{}).tensor;
  for (int n = (spec.gpus + per_node - 1) / per_node; n <= nodes; ++n)
    if (spec.gpus % n == 0 && (tensor > per_node || spec.gpus / n % tensor == 0))
      return spec.gpus / n;
  return std::min(per_node, spec.gpus);
}

LargeJob resolve_large_job(const JobSpec& spec, const Value& at, const LargeExperiment& e)
{
  LargeJob job;
  job.spec = spec;
  if (const std::string idle = idle_keys_of_transformer(spec, at); !idle.empty())
    job.warnings.push_back(idle);
  job.framework = framework_of(spec);
  job.library = models::load_device_library(job.framework.library);
  TransformerSetting setting =
      transformer_setting(spec, at, job.framework, e.platform, e.stack, e.gpus_per_node);
  job.model = std::move(setting.model);
  job.setting = std::move(setting.step);
  for (std::string& warning : setting.warnings)
    job.warnings.push_back(std::move(warning));
  job.tokens = setting.tokens;
  return job;
}

} // namespace

bool is_large(const Point& point)
{
  const ExperimentSpec spec = read_point(point);
  return spec.jobs.size() == 1 && has_transformer(spec.jobs.front());
}

LargeExperiment resolve_large(const Point& given)
{
  const auto uses = std::make_shared<std::vector<PresetUse>>();
  const Point point = noting_presets(given, uses);
  const Value root(point.document);
  LargeExperiment e;
  e.spec = read_point(point);
  e.platform = platforms::load_platform(e.spec.cluster.platform);
  const int per_node = e.platform.gpus_per_node();
  if (per_node == 0)
    root.at("cluster").fail_at("platform", "has no GPUs: '" + e.platform.name + "'");
  const JobSpec& spec = e.spec.jobs.front();
  const Value at = root.at("jobs").at(0);
  const platforms::Stack stack = resolve_stack(e.spec.stack, nullptr, e.platform, root);
  StackSpec own = spec.stack.value_or(StackSpec{});
  e.stack = spec.stack ? resolve_stack(own, &e.spec.stack, e.platform, root) : stack;
  const int needed = (spec.gpus + per_node - 1) / per_node;
  e.nodes = e.spec.cluster.nodes.value_or(needed);
  if (e.nodes < needed)
    at.fail_at("gpus", fmt::format("is {}, but {} nodes have {} GPUs", spec.gpus, e.nodes,
                                   e.nodes * per_node));
  if (e.nodes > e.platform.max_nodes)
    root.at("cluster").fail(fmt::format("{} nodes of '{}', which has at most {}", e.nodes,
                                        e.platform.name, e.platform.max_nodes));
  e.gpus_per_node = even_share(spec, per_node, e.nodes);
  e.job = resolve_large_job(spec, at, e);
  e.presets = *uses;
  return e;
}

} // namespace foretrain::experiments
