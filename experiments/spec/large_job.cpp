#include "experiments/spec/large_job.hpp"

#include "experiments/spec/idle_keys.hpp"
#include "experiments/spec/kernel_curves.hpp"
#include "experiments/spec/resolve.hpp"
#include "models/optimizer.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

Value preset_of(const JobSpec& job)
{
  return resolve_preset(job.model, models::kNetworkKind);
}

constexpr double kUsualClock = 0.92;
// FlashAttention-2 is about twice as quick as the first one (arXiv:2307.08691, abstract).
constexpr double kFlash1 = 0.5;

models::TransformerDevice device_of(const platforms::Gpu& gpu, const JobSpec& job,
                                    const models::TransformerRules& rules,
                                    const platforms::Stack& stack, const Value& at)
{
  const bool eight = job.precision == "fp8" || job.precision == "mxfp8";
  const std::string wide = !eight ? job.precision : gpu.bf16 ? "bf16" : "fp16";
  for (const std::string& name : {job.precision, wide})
    if (precision_rate(gpu, name) == nullptr) {
      std::string known;
      for (const char* other : {"fp32", "tf32", "fp16", "bf16", "fp8"})
        if (precision_rate(gpu, other) != nullptr)
          known += std::string(known.empty() ? "" : ", ") + other;
      at.fail_at("precision", fmt::format("is '{}', for which the {} has no rate", name, gpu.name),
                 "it has: " + known);
    }
  models::TransformerDevice device;
  device.tables = gpu.kernels && gpu.kernels->half;
  device.half = product_curve(gpu, wide);
  if (eight)
    device.fp8 = product_curve(gpu, job.precision);
  device.attention = attention_curve(gpu, job.precision);
  if (rules.attention != "measured" && gpu.kernels && gpu.kernels->attention)
    device.attention.efficiency *= gpu.kernels->attention->flash2;
  if (rules.attention == "flash-1")
    device.attention.efficiency *= kFlash1;
  device.memory = gpu.memory_efficiency * gpu.memory_bandwidth;
  device.kernel_floor = Seconds(std::min(2e-6, gpu.kernel_launch.value()));
  device.host_per_kernel = rules.host_per_kernel + stack.host.kernel_launch;
  device.clock = gpu.kernels ? gpu.kernels->sustained_clock : kUsualClock;
  return device;
}

double tokens_of(const Value& value)
{
  if (value.json().is_number())
    return value.json().get<double>();
  if (!value.json().is_string())
    value.fail("must be a number or a text like \"300B\" or \"1T\", got " + value.shown());
  const auto text = value.json().get<std::string>();
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit(end);
  const double scale = unit.empty() || unit == " "  ? 1
                       : unit == "K" || unit == "k" ? 1e3
                       : unit == "M"                ? 1e6
                       : unit == "B" || unit == "G" ? 1e9
                       : unit == "T"                ? 1e12
                                                    : 0;
  if (end == text.c_str() || scale == 0 || !(number > 0))
    value.fail("must be a number or a text like \"300B\" or \"1T\", got " + value.shown());
  return number * scale;
}

struct Batch {
  int sequence, micro, global;
};

Batch batch_of(const JobSpec& job, const models::TransformerFile& model, const Value& at)
{
  Batch batch{job.sequence.value_or(model.sequence), 0, 0};
  const models::ParallelPlan plan = job.parallel.value_or(models::ParallelPlan{});
  const int data = std::max(1, job.gpus / (plan.tensor * plan.context * plan.pipeline));
  if (job.batch_per_gpu > 0 && job.global_batch)
    at.fail_at("batch_per_gpu", "beside global_batch: a job has one of them");
  if (job.batch_per_gpu == 0 && !job.global_batch)
    at.fail_at("global_batch", "is missing (or batch_per_gpu, for a data-parallel job)");
  batch.micro = job.micro_batch.value_or(job.batch_per_gpu > 0 ? job.batch_per_gpu : 1);
  batch.global = job.global_batch.value_or(job.batch_per_gpu * data);
  return batch;
}

models::StateBytes state_of(const JobSpec& job, const models::TransformerRules& rules,
                            double element, const Value& at)
{
  models::StateBytes state;
  const models::Optimizer optimizer =
      models::load_optimizer(job.optimizer ? job.optimizer : preset_reference("adamw", at));
  state.weight = element;
  state.gradient = rules.gradient == models::GradientPrecision::fp32 ? 4 : element;
  state.optimizer = (element < 4 ? 4 : 0) + optimizer.state_bytes_per_parameter;
  state.offload = job.offload;
  return state;
}

// GPUs that divide weights with zero 3.
int shard_of(const models::ParallelPlan& plan, int data, int per_node)
{
  const int replicas = data * plan.context;
  if (plan.shard == models::ZeroShard::all)
    return replicas;
  return std::clamp(per_node / plan.tensor, 1, replicas);
}

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
  job.model = models::load_transformer(preset_of(spec));
  job.framework = framework_of(spec);
  job.library = models::load_library(job.framework.library);
  const models::TransformerRules rules =
      job.framework.transformer.value_or(models::TransformerRules{});
  const Batch batch = batch_of(spec, job.model, at);
  const models::Transformer& t = job.model.transformer;
  models::StepSetting& s = job.setting;
  s.memory.model = t;
  s.memory.plan = spec.parallel.value_or(models::ParallelPlan{});
  s.memory.batch = models::check_plan(at, t, s.memory.plan, spec.gpus, batch.sequence, batch.micro,
                                      batch.global);
  s.memory.recompute = spec.recompute;
  s.memory.modules = spec.recompute_modules;
  s.memory.adapters = spec.lora;
  if (!spec.recompute_modules.empty() && spec.recompute != models::Recompute::selective)
    at.fail_at("recompute_modules",
               "are what selective recomputation repeats, and \"recompute\" is '" +
                   word_of(spec.recompute) + "'",
               "add \"recompute\": \"selective\"");
  s.memory.flash = spec.attention == "flash";
  s.memory.element = spec.precision == "fp32" || spec.precision == "tf32" ? 4 : 2;
  s.memory.shard = shard_of(s.memory.plan, s.memory.batch.data, e.gpus_per_node);
  s.memory.state = state_of(spec, rules, s.memory.element, at);
  s.rules = rules;
  s.fp8 = spec.precision == "fp8" || spec.precision == "mxfp8";
  s.device = device_of(e.platform.gpu, spec, rules, e.stack, at);
  s.variation = job.framework.step_variation;
  s.speed_variation = e.platform.gpu.speed_variation;
  s.overhead = e.stack.host.cpu_overhead * job.framework.step_overhead;
  if (t.learned_positions() > 0 && batch.sequence > t.learned_positions())
    job.warnings.push_back(
        fmt::format("{}: sequences of {} tokens, but {} has {} learned positions", spec.name,
                    batch.sequence, job.model.name, t.learned_positions()));
  if (!s.device.tables)
    job.warnings.push_back(fmt::format("{}: no kernel of the {} was measured: products and "
                                       "attention follow its data sheet, and the range is wider",
                                       spec.name, e.platform.gpu.name));
  if (spec.tokens)
    job.tokens = tokens_of(spec.tokens);
  return job;
}

} // namespace

bool is_large(const Point& point)
{
  const ExperimentSpec spec = read_point(point);
  const Value jobs = Value(point.document).at("jobs");
  std::size_t transformers = 0;
  for (const JobSpec& job : spec.jobs)
    transformers += job.model && models::is_transformer(preset_of(job)) ? 1U : 0U;
  if (transformers > 0 && spec.jobs.size() > 1)
    jobs.fail("holds several jobs, one of them a transformer",
              "a transformer's job has the machine to itself: give each an experiment of its own");
  return transformers > 0;
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
