#include "experiments/run/large_scenario.hpp"

#include "experiments/run/plan_exchanges.hpp"
#include "experiments/run/token_work.hpp"
#include "experiments/run/trace_file.hpp"
#include "experiments/spec/transformer_setting.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Relative standard deviations, beside that of kernels. Exchanges: residuals of collectives of
// large messages; the rest: what frameworks do that is not modelled.
constexpr double kExchangeSpread = 0.15;
constexpr double kFrameworkSpread = 0.05;
constexpr double kOtherSpread = 0.3; // of bubble-free small parts: optimizer, straggler, host
constexpr double kFragmentation = 0.05;

double spread_of(const models::StepParts& p, double kernel)
{
  const double step = p.total().value();
  const double compute = (p.compute + p.recompute + p.bubble) / Seconds(step);
  const double exchange = p.exposed() / Seconds(step);
  const double rest = (p.optimizer + p.straggler + p.framework) / Seconds(step);
  return std::sqrt(std::pow(compute * kernel, 2) + std::pow(exchange * kExchangeSpread, 2) +
                   std::pow(rest * kOtherSpread, 2) + std::pow(kFrameworkSpread, 2));
}

Range around(double value, double spread, double interval)
{
  const double factor = std::exp(half_width(interval) * spread);
  return {value, value / factor, value * factor, interval};
}

Bytes needed(const models::MemorySetting& setting)
{
  return models::fullest_stage(setting).second.total();
}

// The plan nearest to the one asked for that fits: more recomputation, then more sharing.
std::string fitting(const LargeExperiment& e)
{
  const double room = e.platform.gpu.memory.value();
  models::MemorySetting s = e.job.setting.memory;
  const auto fits = [&] { return needed(s).value() < room; };
  for (const auto recompute : {models::Recompute::selective, models::Recompute::full}) {
    if (recompute > s.recompute) {
      s.recompute = recompute;
      if (fits())
        return recompute == models::Recompute::full ? "\"recompute\": \"full\""
                                                    : "\"recompute\": \"selective\"";
    }
  }
  const models::MemorySetting repeated = s;
  for (int zero = s.plan.zero + 1; zero <= 3; ++zero) {
    s.plan.zero = zero;
    s.shard = s.batch.data * s.plan.context;
    if (fits())
      return fmt::format("full recomputation and \"zero\": {}", zero);
  }
  for (int tensor = 2 * repeated.plan.tensor; tensor <= e.platform.gpus_per_node(); tensor *= 2) {
    s = repeated;
    s.plan.tensor = tensor;
    s.plan.sequence_parallel = true;
    const auto& b = repeated.batch;
    if (!models::problem_of(s.model, s.plan, b.gpus, b.sequence, b.micro_batch, b.global_batch)
             .empty())
      continue;
    s.batch.data = b.gpus / (tensor * s.plan.context * s.plan.pipeline);
    if (fits())
      return fmt::format("full recomputation and \"tensor\": {}", tensor);
  }
  return "";
}

Bottleneck bottleneck_of(const LargeExperiment& e, const models::StepParts& p)
{
  struct PlanPart {
    const char* what;
    const char* resource;
    Seconds time;
  };
  const PlanPart parts[] = {
      {"compute", "gpu/compute", p.compute + p.recompute},
      {"exchanges of the tensor-parallel group", "tensor", p.tensor},
      {"exchanges of the context-parallel group", "context", p.context},
      {"exchanges of experts", "expert", p.expert},
      {"transfers between stages", "pipeline", p.pipeline},
      {"gradients and shared weights", "data", p.data},
      {"the pipeline's bubble", "bubble", p.bubble},
      {"the optimizer", "gpu/memory", p.optimizer},
  };
  const PlanPart* largest = &parts[0];
  for (const PlanPart& part : parts)
    if (part.time > largest->time)
      largest = &part;
  const double share = largest->time / p.total();
  return {largest == &parts[0] ? e.platform.gpu.name : largest->resource, share,
          fmt::format("{:.0f} % of the step is {}", 100 * share, largest->what)};
}

void add_memory(const LargeExperiment& e, JobResult& result, std::vector<std::string>& warnings)
{
  const auto [stage, m] = models::fullest_stage(e.job.setting.memory);
  result.memory = {m.total(), e.platform.gpu.memory, models::memory_parts(m)};
  if (result.memory.needed <= result.memory.available)
    return;
  const std::string plan = fitting(e);
  warnings.insert(
      warnings.begin(),
      fmt::format("{}: does not fit: stage {} needs about {} of device memory ({:.0f} % more for "
                  "fragments), a {} has {}; {}",
                  result.name, stage, to_text(result.memory.needed), 100 * kFragmentation,
                  e.platform.gpu.name, to_text(result.memory.available),
                  plan.empty() ? "no recomputation or sharing of this plan would fit"
                               : "this would fit: " + plan));
}

std::vector<Parameter> parameters_of(const LargeExperiment& e)
{
  const models::StepSetting& s = e.job.setting;
  const std::string tables = s.device.tables ? "kernel tables of the GPU preset" : "data sheet";
  std::vector<Parameter> list;
  const auto add = [&](const char* name, const std::string& value, const std::string& source) {
    list.push_back({name, value, source});
  };
  add("gpu", e.platform.gpu.name, "platform");
  add("gpu/product_efficiency", fmt::format("{:.3g}", s.device.half.efficiency), tables);
  add("gpu/attention_efficiency", fmt::format("{:.3g}", s.device.attention.efficiency), tables);
  add("gpu/sustained_clock", fmt::format("{:.3g}", s.device.clock), "GPU preset");
  add("gpu/memory", to_text(s.device.memory), "GPU preset");
  add("parameters", fmt::format("{:.4g}", models::parameters(s.memory.model).total()),
      e.job.model.name);
  add("network", e.stack.transport.name, "stack");
  add("library", e.job.library.name, "framework");
  add("host_per_kernel", to_text(s.device.host_per_kernel), e.job.framework.name);
  add("host_per_layer", to_text(s.rules.host_per_layer), e.job.framework.name);
  return list;
}

} // namespace

bool fits(const LargeExperiment& experiment)
{
  return needed(experiment.job.setting.memory) <= experiment.platform.gpu.memory;
}

PointResult run_large_point(const Point& point, const RunOptions& options)
{
  const LargeExperiment e = resolve_large(point);
  PlanExchanges exchanges(e, options.fidelity);
  const models::StepResult step = models::large_step(e.job.setting, exchanges);
  const models::StepParts& p = step.parts;
  JobResult result;
  result.name = e.job.spec.name;
  result.gpus = e.job.spec.gpus;
  result.nodes = (result.gpus + e.gpus_per_node - 1) / e.gpus_per_node;
  const double samples = e.job.setting.memory.batch.global_batch / step.step.value();
  const double spread = spread_of(p, kernel_spread(e.job.setting.device));
  const double interval = options.uncertainty.interval;
  result.step_time = around(step.step.value(), spread, interval);
  result.throughput = around(samples, spread, interval);
  result.time.compute = p.compute + p.optimizer;
  result.time.exposed_communication = p.exposed();
  result.time.straggler_wait = p.straggler;
  result.time.framework = p.framework;
  result.time.bubble = p.bubble;
  result.time.recompute = p.recompute;
  result.bottleneck = bottleneck_of(e, p);
  result.tokens = token_work(e.job.setting, e.job.tokens, e.spec.cluster.price_per_gpu_hour);
  result.exposed_by_group = {{"tensor", p.tensor},
                             {"context", p.context},
                             {"pipeline", p.pipeline},
                             {"expert", p.expert},
                             {"data", p.data}};
  if (step.pipeline.stages > 1)
    result.pipeline = step.pipeline;
  result.elapsed = {e.stack.host.start + e.job.framework.start, 20 * step.step};
  result.uncertainty = Uncertainty{"linear", spread, 0, {}};
  // One GPU that held the whole model would only compute.
  const double ideal = (p.compute + p.recompute + p.optimizer) / p.total();
  result.efficiency = ideal;
  result.speedup = ideal * result.gpus;
  PointResult all;
  all.settings = point.settings;
  all.warnings = e.job.warnings;
  add_memory(e, result, all.warnings);
  all.parameters = parameters_of(e);
  all.flows = exchanges.flows();
  if (!options.trace_path.empty())
    write_trace(options.trace_path, result.name, e.job.setting, step);
  all.jobs.push_back(std::move(result));
  return all;
}

double large_throughput(const LargeExperiment& experiment, const RunOptions& options)
{
  PlanExchanges exchanges(experiment, options.fidelity);
  return experiment.job.setting.memory.batch.global_batch /
         models::large_step(experiment.job.setting, exchanges).step.value();
}

double quick_large_throughput(const Point& point, const RunOptions& options)
{
  return large_throughput(resolve_large(point), options);
}

} // namespace foretrain::experiments
