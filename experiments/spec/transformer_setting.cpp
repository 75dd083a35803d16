#include "experiments/spec/transformer_setting.hpp"

#include "experiments/spec/job_framework.hpp"
#include "experiments/spec/kernel_curves.hpp"
#include "experiments/spec/transformer_checks.hpp"
#include "models/plans/supported_plan.hpp"
#include "models/training/optimizer.hpp"
#include "models/transformer/conversion.hpp"
#include "models/transformer/hf_config.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace foretrain::experiments {

using sim::Precision;

namespace {

// Relative standard deviations. Products: what is left over of the held-out shapes of the tables,
// averaged over the shapes of a model, or where there are none; clock: as the GPU's preset says.
constexpr double kTableSpread = 0.05;
constexpr double kDataSheetSpread = 0.15;
constexpr double kClockSpread = 0.04;
// Of a whole step: a third of it is the scan, whose kernels are a quarter quicker or slower in the
// calibration rows than their mean.
constexpr double kScanSpread = 0.08;

// FlashAttention-2 is about twice as quick as the first one (arXiv:2307.08691, abstract), and 1.3
// to 2.5 times as quick as FlashAttention in Triton (section 4.1, sequences of 512 to 16,384): the
// former for long sequences, the latter for 512 causal tokens, which meet 256 keys.
constexpr double kFlash1 = 0.5;
constexpr double kTritonLong = 1 / 1.3;
constexpr double kTritonShort = 1 / 2.5;
constexpr double kShortKeys = 256;

// FlashAttention-2 loses less with heads of 64 than kernels that keep tensor cores busy throughout:
// what A100's tables say, whose kernel it is (aiconfigurator; arXiv:2307.08691, figures 5 and 6).
constexpr double kFlash2SmallHead = 0.92;

void run_flash_2(sim::AttentionCurve& curve, double rate)
{
  curve.efficiency *= rate;
  if (rate < 1)
    curve.small_head = kFlash2SmallHead;
}

// The Triton kernel is FlashAttention-2's at a lower rate, and pays for more keys of each block.
void run_in_triton(sim::AttentionCurve& curve)
{
  curve.efficiency *= kTritonLong;
  curve.fill = (kShortKeys + curve.fill) * kTritonLong / kTritonShort - kShortKeys;
}

models::TransformerDevice device_of(const platforms::Gpu& gpu, const JobSpec& job,
                                    const models::Framework& framework,
                                    const models::TransformerRules& rules,
                                    const platforms::Stack& stack, const Value& at)
{
  static constexpr Precision kOfTransformers[] = {
      Precision::fp32, Precision::tf32,  Precision::fp16,  Precision::bf16,
      Precision::fp8,  Precision::mxfp8, Precision::mxfp4, Precision::nvfp4};
  const bool narrow = is_narrow(job.precision);
  const Precision wide = narrow ? sixteen_bits_of(gpu) : job.precision;
  for (const Precision one : {job.precision, wide})
    checked_rate(gpu, one, kOfTransformers, at);
  models::TransformerDevice device;
  const bool fp8_tables = gpu.kernels && gpu.kernels->fp8 && !is_fp4(job.precision);
  device.tables =
      gpu.kernels && gpu.kernels->half && has_product_kernels(gpu, wide) && (!narrow || fp8_tables);
  device.half = product_curve(gpu, arithmetic_of(gpu, wide, true));
  if (narrow)
    device.narrow = product_curve(gpu, job.precision);
  device.attention = attention_curve(gpu, job.precision);
  if (rules.attention != models::AttentionKernel::measured && gpu.kernels && gpu.kernels->attention)
    run_flash_2(device.attention, gpu.kernels->attention->flash2);
  if (rules.attention == models::AttentionKernel::flash_1)
    device.attention.efficiency *= kFlash1;
  if (rules.attention == models::AttentionKernel::triton)
    run_in_triton(device.attention);
  device.memory = gpu.memory_efficiency * gpu.memory_bandwidth;
  device.kernel_floor = std::min(gpu.kernel_floor, gpu.kernel_launch);
  device.launches = launches_of(framework, gpu, stack.host, job.precision);
  device.clock = sustained_clock(gpu);
  device.functions = device.clock * function_rate(gpu);
  device.quicken(1 / (job.kernel_time * platforms::typical_guest(stack.host.quality)));
  return device;
}

constexpr double kMostTokens = 1e18; // a hundred thousand times the longest training that is known

double tokens_in_range(const Value& value, double tokens)
{
  if (!(tokens > 0))
    value.fail("must be greater than zero, got " + value.shown());
  if (tokens > kMostTokens)
    value.fail("must be at most 1e18, got " + value.shown());
  return tokens;
}

double tokens_of(const Value& value)
{
  if (value.json().is_number())
    return tokens_in_range(value, value.json().get<double>());
  if (!value.json().is_string())
    value.fail("must be a number or a text like \"300B\" or \"1T\", got " + value.shown());
  const auto text = value.json().get<std::string>();
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  std::string unit(end);
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  const double scale = unit.empty()                 ? 1
                       : unit == "K" || unit == "k" ? 1e3
                       : unit == "M"                ? 1e6
                       : unit == "B" || unit == "G" ? 1e9
                       : unit == "T"                ? 1e12
                                                    : 0;
  if (end == text.c_str() || scale == 0)
    value.fail("must be a number or a text like \"300B\" or \"1T\", got " + value.shown());
  return tokens_in_range(value, number * scale);
}

struct Batch {
  int sequence, micro, global;
};

Batch batch_of(const JobSpec& job, const models::TransformerFile& model, const Value& at)
{
  Batch batch{job.sequence.value_or(model.sequence), 0, 0};
  if (job.batch_per_gpu > 0 && job.global_batch)
    at.fail_at("batch_per_gpu", "beside global_batch: a job has one of them");
  if (job.batch_per_gpu == 0 && !job.global_batch)
    at.fail_at("global_batch", "is missing (or batch_per_gpu, for a data-parallel job)");
  batch.micro = job.micro_batch.value_or(job.batch_per_gpu > 0 ? job.batch_per_gpu : 1);
  batch.global = global_batch_of(job);
  return batch;
}

// Of a framework that says nothing of transformers: what its scripts do with any network. Its
// optimizer launches what it does for each tensor.
models::TransformerRules rules_of_scripts(const models::Framework& framework,
                                          const models::Optimizer& optimizer,
                                          const models::Transformer& t)
{
  models::TransformerRules rules;
  rules.joined_projections = t.joins();
  rules.optimizer_kernels =
      static_cast<int>(models::form_of(optimizer, framework.optimizer_style).launches_per_tensor);
  return rules;
}

models::StateBytes state_of(const JobSpec& job, const models::TransformerRules& rules,
                            const models::Optimizer& optimizer, double element)
{
  models::StateBytes state;
  state.weight = element;
  state.masters = rules.master == models::MasterWeights::weights;
  state.root = rules.reshard_after_backward;
  state.frozen = !job.lora || job.lora->weights == models::FrozenWeights::compute ? element
                 : job.lora->weights == models::FrozenWeights::fp8                ? 1
                                                                   : models::kNf4Bytes;
  state.gradient = rules.gradient == models::GradientPrecision::fp32 ? 4 : element;
  // Kernels that add up begin behind the whole backward pass: a micro-batch's are there, too.
  if (rules.gradient_sum == models::GradientSum::kernels && state.gradient > element)
    state.gradient += element;
  const bool remainder =
      rules.master == models::MasterWeights::remainder && job.precision != Precision::fp16;
  const double master = element >= 4 ? 0 : remainder ? 4 - element : 4;
  state.optimizer = master + optimizer.state_bytes_per_parameter;
  // Masters in single precision are told gradients in single precision.
  if (master >= 4 && !state.masters && state.gradient < 4)
    state.step = 4 + (rules.joined_gradients ? element : 0);
  if (optimizer.newton_schulz)
    state.table_more =
        optimizer.newton_schulz->table_bytes_per_parameter - optimizer.state_bytes_per_parameter;
  state.offload = job.offload;
  return state;
}

// What stands for kernels that no table is known of.
std::string unmeasured(const JobSpec& job, const platforms::Gpu& gpu)
{
  const bool half = gpu.kernels && gpu.kernels->half;
  const platforms::PrecisionRate* const rate = precision_rate(gpu, job.precision);
  const char* const follow = !half && rate != nullptr && rate->product_efficiency > 0
                                 ? "products follow the best ones of its maker, attention its data "
                                   "sheet"
                             : !half ? "products and attention follow its data sheet "
                                       "(\"product_efficiency\" says what products reach)"
                             : is_fp4(job.precision) && gpu.kernels->fp8
                                 ? "products follow those in fp8 at the peak of its data sheet"
                                 : "products follow its data sheet";
  return fmt::format("{}: no {} of the {} was measured: {}, and the range is wider", job.name,
                     half ? "product in " + word_of(job.precision) : "kernel", gpu.name, follow);
}

void add_warnings(TransformerSetting& setting, const JobSpec& job, int sequence,
                  const models::Framework& framework, const platforms::PlatformSpec& platform)
{
  const models::Transformer& t = setting.model.transformer;
  const models::StepSetting& s = setting.step;
  if (t.learned_positions() > 0 && sequence > t.learned_positions())
    setting.warnings.push_back(
        fmt::format("{}: sequences of {} tokens, but {} has {} learned positions", job.name,
                    sequence, setting.model.name, t.learned_positions()));
  if (const Bytes needed = s.memory.per_node * models::fullest_host(s.memory);
      needed > platform.node.memory)
    setting.warnings.push_back(
        fmt::format("{}: what is offloaded needs {} of main memory on each node, which has {}",
                    job.name, to_text(needed), to_text(platform.node.memory)));
  if (job.routing.imbalance > 1 && s.memory.plan.expert == 1)
    setting.warnings.push_back(job.name + ": \"imbalance\" has no influence: expert is 1, so every "
                                          "GPU has all experts and as much to do as the others");
  if (s.memory.experts_take < 1)
    setting.warnings.push_back(fmt::format("{}: experts leave out {:.3g} % of what goes to them "
                                           "(\"capacity\"): model FLOP are of what "
                                           "is done",
                                           job.name, 100 * (1 - s.memory.experts_take)));
  if (!s.device.tables)
    setting.warnings.push_back(unmeasured(job, platform.gpu));
  if (const std::string missing = models::unsupported(framework.plans, s.memory.plan);
      !missing.empty())
    setting.warnings.push_back(
        fmt::format("{}: {} has no {}: the answer is what it would take if it had", job.name,
                    framework.name, missing));
}

} // namespace

void use_routing(models::MemorySetting& memory, const RoutingSpec& routing)
{
  const int gpus = memory.plan.expert;
  const double most = memory.model.experts > 0 ? most_expert_load(memory.model, gpus) : 1;
  memory.expert_load = routing.load(most);
  memory.experts_take = routing.taken(gpus, most);
}

double kernel_spread(const TransformerSetting& setting)
{
  const double tables = setting.step.device.tables ? kTableSpread : kDataSheetSpread;
  return std::hypot(tables, kClockSpread, setting.model.transformer.scans() ? kScanSpread : 0);
}

bool has_transformer(const JobSpec& job)
{
  if (!job.model)
    return false;
  const Value model = resolve_preset(job.model, models::kNetworkKind);
  models::refuse_hf_config(model);
  return models::is_transformer(model);
}

bool counts_epochs(const JobSpec& job)
{
  const Value model = resolve_preset(job.model, models::kNetworkKind);
  return models::load_transformer(model).transformer.patch_values > 0 &&
         model.json().contains("dataset");
}

int global_batch_of(const JobSpec& job)
{
  const models::ParallelPlan plan = job.parallel.value_or(models::ParallelPlan{});
  const int replicas = std::max(1, job.gpus / (plan.tensor * plan.context * plan.pipeline));
  return job.global_batch.value_or(job.batch_per_gpu * replicas);
}

bool divides(const models::ParallelPlan& plan)
{
  return plan.tensor * plan.context * plan.pipeline * plan.expert > 1 || plan.zero > 0;
}

TransformerSetting transformer_setting(const JobSpec& job, const Value& at,
                                       const models::Framework& framework,
                                       const platforms::PlatformSpec& platform,
                                       const platforms::Stack& stack, int gpus_per_node)
{
  if (job.mode == JobMode::inference)
    at.fail_at("mode", "is 'inference', and the model is a transformer",
               "only training of transformers is known");
  if (job.parameter_servers)
    at.fail_at("parameter_servers", "are for other models than transformers",
               "leave them out: gradients of a transformer are exchanged by collectives");
  TransformerSetting setting;
  setting.model = models::load_transformer(resolve_preset(job.model, models::kNetworkKind));
  const models::Optimizer optimizer =
      models::load_optimizer(job.optimizer ? job.optimizer : preset_reference("adamw", at));
  models::TransformerRules rules = models::in_effect(
      framework.transformer ? *framework.transformer
                            : rules_of_scripts(framework, optimizer, setting.model.transformer),
      job.precision != Precision::fp16 && (!job.parallel || job.parallel->zero < 2));
  const Batch batch = batch_of(job, setting.model, at);
  const models::Transformer& t = setting.model.transformer;
  models::StepSetting& s = setting.step;
  s.memory.model = t;
  s.memory.plan = models::as_meant(job.parallel.value_or(models::ParallelPlan{}));
  s.memory.plan.cut = rules.stages;
  s.memory.batch =
      models::check_plan(at, t, s.memory.plan, job.gpus, batch.sequence, batch.micro, batch.global);
  if (job.lengths)
    models::check_lengths(*job.lengths, batch.sequence, at.at("lengths"));
  s.memory.batch.lengths = job.lengths;
  s.memory.recompute = job.recompute;
  s.memory.modules = job.recompute_modules;
  if (s.memory.modules == std::vector{models::LayerModule::core_attn}) { // Megatron-Core's default
    rules.selective = models::SelectiveRecompute::core;
    s.memory.modules.clear();
  }
  s.memory.selective = rules.selective;
  s.memory.adapters = job.lora;
  s.memory.treatments = {job.bf16_layers.first, job.bf16_layers.last, job.recompute_layers,
                         job.offload_activations};
  use_routing(s.memory, job.routing);
  s.memory.flash =
      job.attention ? *job.attention == AttentionWay::flash : framework.kernels.fused_attention;
  s.memory.element = is_narrow(job.precision) ? 2 : bytes_of(job.precision);
  s.memory.per_node = gpus_per_node;
  s.memory.stages_keep_weights = rules.stages_keep_weights;
  refuse_idle_of_transformer(job, t, s.memory.plan, optimizer, at);
  s.memory.state = state_of(job, rules, optimizer, s.memory.element);
  s.newton_schulz = optimizer.newton_schulz ? optimizer.newton_schulz->iterations : 0;
  s.memory.operand = is_narrow(job.precision) ? bytes_of(job.precision) : s.memory.element;
  s.memory.fp8_kept = is_narrow(job.precision) ? rules.fp8_kept : models::Fp8Kept::nothing;
  s.memory.loss = rules.loss;
  s.memory.separate_gate = !(framework.fused_elementwise && rules.fused_activation);
  s.rules = rules;
  s.fused_elementwise = framework.fused_elementwise;
  s.composed = framework.kernels.composed;
  s.autocast =
      models::autocast_of(framework.kernels.autocast,
                          is_narrow(job.precision) ? sixteen_bits_of(platform.gpu) : job.precision);
  // Where what is too much is left out, nobody asks how much came.
  s.rules.dropless = rules.dropless && !job.routing.capacity;
  // Frameworks tell what Adam moves; another optimizer reads and writes its own state instead.
  constexpr double kAdamState = 8;
  s.rules.optimizer_bytes = std::max(
      0.0, s.rules.optimizer_bytes + 2 * (optimizer.state_bytes_per_parameter - kAdamState));
  s.conversion = models::conversion_of(job.precision, rules.fp8_scaling, s.memory.element);
  s.device = device_of(platform.gpu, job, framework, rules, stack, at);
  s.host_link = platforms::gpu_link(platform);
  s.host_memory = platform.cpu.memory_efficiency * platform.cpu.memory_bandwidth *
                  platform.node.sockets / gpus_per_node;
  s.variation = framework.step_variation;
  s.speed_variation = platform.gpu.speed_variation;
  s.overhead = stack.host.cpu_overhead * framework.step_overhead;
  if (job.tokens)
    setting.tokens = tokens_of(job.tokens);
  add_warnings(setting, job, batch.sequence, framework, platform);
  return setting;
}

} // namespace foretrain::experiments
