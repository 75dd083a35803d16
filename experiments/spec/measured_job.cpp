#include "experiments/spec/measured_job.hpp"

#include "experiments/spec/kernel_curves.hpp"
#include "models/plans/recorded_program.hpp"
#include "models/training/measured.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

double reached(const platforms::PrecisionRate& rate)
{
  return rate.dense_efficiency * rate.peak.value();
}

struct Scaling {
  models::DeviceRatios ratios;
  std::string from; // name of the recorded GPU; empty: nothing is scaled
};

Scaling scaling_of(const ResolvedJob& job, const platforms::PlatformSpec& platform, const Value& at)
{
  const models::MeasuredSpec& measured = *job.network.measured;
  if (measured.gpu.empty())
    return {};
  const Value reference = preset_reference(measured.gpu, at);
  const auto old = read_as<platforms::Gpu>(resolve_preset(reference, platforms::kGpuKind));
  const sim::Precision precision = measured.precision.value_or(job.spec.precision);
  if (old.name == platform.gpu.name && precision == job.spec.precision)
    return {};
  const bool training = job.spec.mode != JobMode::inference;
  const platforms::PrecisionRate* before =
      precision_rate(old, arithmetic_of(old, precision, training));
  const platforms::PrecisionRate* now =
      precision_rate(platform.gpu, arithmetic_of(platform.gpu, job.spec.precision, training));
  if (before == nullptr || now == nullptr)
    at.fail_at("precision", fmt::format("is '{}', recorded in {} on {}: one of the two GPUs has no "
                                        "rate for its precision",
                                        word_of(job.spec.precision), word_of(precision), old.name));
  Scaling scaling;
  scaling.from = fmt::format("{} in {}", old.name, word_of(precision));
  scaling.ratios.product = reached(*before) / reached(*now);
  scaling.ratios.memory = (old.memory_efficiency * old.memory_bandwidth) /
                          (platform.gpu.memory_efficiency * platform.gpu.memory_bandwidth) *
                          bytes_of(job.spec.precision) / bytes_of(precision);
  return scaling;
}

} // namespace

void take_as_recorded(ResolvedJob& job, const platforms::PlatformSpec& platform, const Value& at)
{
  const models::MeasuredSpec& measured = *job.network.measured;
  if (measured.batch && !at.json().contains("batch_per_gpu"))
    job.spec.batch_per_gpu = *measured.batch;
  if (measured.precision && !at.json().contains("precision") &&
      precision_rate(platform.gpu, *measured.precision) != nullptr)
    job.spec.precision = *measured.precision;
}

models::ComputeProfile measured_profile_of(const ResolvedJob& job,
                                           const platforms::PlatformSpec& platform,
                                           const platforms::Stack& stack, const Value& at)
{
  models::ComputeProfile profile =
      models::measured_profile(*job.network.measured, job.spec.batch_per_gpu,
                               scaling_of(job, platform, at).ratios, stack.host.kernel_launch);
  profile.behind.launch = job.device.ordinary.launch;
  return profile;
}

void use_measured_times(ResolvedJob& job, const platforms::PlatformSpec& platform, const Value& at)
{
  const models::MeasuredSpec& measured = *job.network.measured;
  const std::string& name = job.spec.name;
  job.profile = measured_profile_of(job, platform, job.stack, at);
  const bool synthetic = read_input(job.spec.input).format == InputFormat::synthetic;
  job.framework.step_overhead = measured.host;
  if (synthetic)
    job.framework.step_overhead += measured.input + measured.copy;
  if (measured.variation)
    job.framework.step_variation = *measured.variation;

  const auto warn = [&job, &name](const std::string& text) {
    job.warnings.push_back(name + ": " + text);
  };
  const Scaling scaling = scaling_of(job, platform, at);
  if (!scaling.from.empty())
    warn(
        fmt::format("extrapolates: recorded on a {}; products take {:.2f} and other kernels {:.2f} "
                    "times as long on a {} in {}, by the ratio of what the two GPUs reach",
                    scaling.from, scaling.ratios.product, scaling.ratios.memory, platform.gpu.name,
                    word_of(job.spec.precision)));
  else if (measured.gpu.empty() && !measured.device.empty())
    warn(fmt::format("was recorded on a '{}', of which there is no preset: its times are used as "
                     "they are, as if every GPU were one",
                     measured.device));
  else if (measured.gpu.empty())
    warn(fmt::format("its file does not tell the GPU that it was recorded on (\"gpu\"): its times "
                     "are used as they are on a {}, as on any other",
                     platform.gpu.name));
  if (measured.batch && *measured.batch != job.spec.batch_per_gpu)
    warn(fmt::format("extrapolates: recorded with a batch of {}; kernels of forward and backward "
                     "are taken in proportion for {}",
                     *measured.batch, job.spec.batch_per_gpu));
  const Seconds waits = measured.input + measured.copy;
  if (synthetic && waits.value() > 0.02 * measured.step.value())
    warn(fmt::format("each step includes {} of waiting for input and copying it, as recorded; give "
                     "the job an \"input\" to have them simulated instead",
                     to_text(waits)));
  if (job.spec.gpus > 1 && measured.exchanges.empty() &&
      models::totals(job.network).parameters == 0)
    at.fail_at("gpus",
               fmt::format("is {}, but the recording tells no size of a gradient, so that "
                           "nothing is known of what the GPUs exchange",
                           job.spec.gpus),
               "import it again with --like MODEL (a network of the same shape)");
}

void use_recorded_exchanges(ResolvedJob& job, const platforms::PlatformSpec& platform,
                            const Value& at)
{
  const models::MeasuredSpec& measured = *job.network.measured;
  if (measured.exchanges.empty() || job.spec.gpus < 2)
    return;
  if (read_input(job.spec.input).format != InputFormat::synthetic)
    at.fail_at("input",
               "is to be simulated, but the model was recorded with other exchanges than "
               "those of gradients: its waiting for input is part of its recorded times",
               "leave \"input\" out");
  if (const auto problem = models::problem_with_ranks(measured, job.spec.gpus); !problem.empty())
    at.fail_at("gpus", fmt::format("is {}: {}", job.spec.gpus, problem));
  models::RecordedJob recorded;
  recorded.name = job.spec.name;
  recorded.ranks = job.spec.gpus;
  if (measured.batch)
    recorded.batch = static_cast<double>(job.spec.batch_per_gpu) / *measured.batch;
  recorded.ratios = scaling_of(job, platform, at).ratios;
  const double longer = job.anchor_factor * platforms::typical_guest(job.stack.host.quality);
  recorded.ratios.product *= longer;
  recorded.ratios.memory *= longer;
  recorded.launch = job.stack.host.kernel_launch;
  auto plan = std::make_shared<models::WorkPlan>();
  plan->program = models::recorded_program(measured, recorded);
  plan->samples_per_step = static_cast<double>(job.spec.batch_per_gpu) * job.spec.gpus;
  plan->step_variation = job.framework.step_variation;
  plan->one_gpu_by_profile = !models::names_lines(measured);
  plan->summary = fmt::format("{} recorded exchanges", measured.exchanges.size());
  plan->memory.push_back({"all", device_memory(job)});
  job.plan = std::move(plan);
  const std::string& name = job.spec.name;
  if (job.spec.gpus != measured.ranks)
    job.warnings.push_back(fmt::format(
        "{}: extrapolates: recorded on {} GPUs; each GPU's kernels and the size of each "
        "exchange are taken to be the same on {}",
        name, measured.ranks, job.spec.gpus));
  if (measured.lines.size() > 1 && job.spec.gpus % static_cast<int>(measured.lines.size()) != 0)
    job.warnings.push_back(fmt::format("{}: {} recorded ranks are taken in turn by {} GPUs", name,
                                       measured.lines.size(), job.spec.gpus));
}

} // namespace foretrain::experiments
