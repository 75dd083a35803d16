#include "experiments/spec/anchored_profile.hpp"

#include "experiments/spec/anchor.hpp"
#include "experiments/spec/job_device.hpp"
#include "experiments/spec/measured_job.hpp"
#include "models/training/fetch.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// What a step of one GPU waits for variables that live in host memory: each layer for its own.
Seconds exchange_of_one(const ResolvedJob& job, const models::ComputeProfile& profile,
                        const ResolvedExperiment& e)
{
  const auto& servers = job.framework.servers;
  if (job.spec.mode == JobMode::inference ||
      job.framework.synchronisation != models::Synchronisation::parameter_server || !servers ||
      servers->worker != models::ServerClient::gpu)
    return Seconds(0);
  return models::exposed_fetch(
      models::plan_buckets(job.network, profile, job.framework, gradient_bytes(job)), profile,
      platforms::gpu_link(e.platform), servers->fetch_order);
}

} // namespace

void apply_anchor(ResolvedJob& job, const ResolvedExperiment& e, const Value& at)
{
  ResolvedJob measured = job; // at the batch that the rate was measured with
  JobSpec& spec = measured.spec;
  spec.batch_per_gpu = spec.anchor->batch_per_gpu.value_or(spec.batch_per_gpu);
  models::Device device = device_for(e.platform, job.stack, spec, job.framework, at);
  device.optimizer = job.optimizer;
  const auto profile = job.network.measured
                           ? measured_profile_of(measured, e.platform, job.stack, at)
                           : profile_of(measured, device);
  const Seconds step(batch_of_step(spec) / spec.anchor->samples_per_s);
  const Seconds again =
      (spec.gradient_accumulation - 1.0) * (profile.forward() + profile.backward());
  // A guest may run kernels slower than the bare machine, which the rate holds, too; of the host's
  // launches the device's times know it.
  const double guest = profile.host_bound() ? 1 : platforms::typical_guest(job.stack.host.quality);
  const Seconds computed = guest * (profile.computed() + again);
  const Seconds left = step - job.stack.host.cpu_overhead * job.framework.step_overhead -
                       (profile.total() - profile.computed()) -
                       (spec.gradient_accumulation - 1.0) * adding_up(measured);
  Seconds kernels = left;
  for (int i = 0; i < 3; ++i) // what is exposed depends on how long kernels take
    kernels =
        left - exchange_of_one(
                   measured,
                   models::lengthened(profile, models::lengthening_of(profile, kernels / computed)),
                   e);
  if (kernels.value() <= 0 || computed.value() <= 0)
    at.fail_at("anchor",
               fmt::format("leaves no time for computing: a step of {} takes {:.3g} ms, "
                           "of which framework and variables need {:.3g} ms",
                           spec.batch_per_gpu, step.value() * 1e3, (step - kernels).value() * 1e3));
  job.anchor_factor = kernels / computed;
  job.anchor_lengthening = models::lengthening_of(profile, job.anchor_factor);
  job.profile = models::lengthened(job.profile, job.anchor_lengthening);
  if (spec.batch_per_gpu != job.spec.batch_per_gpu)
    job.warnings.push_back(fmt::format(
        "{}: extrapolates: the anchor, at a batch of {}, makes {} {:.3g} times as "
        "long as computed, and is taken to do so at {}",
        spec.name, spec.batch_per_gpu, profile.host_bound() ? "the host's launches" : "kernels",
        job.anchor_factor, job.spec.batch_per_gpu));
  if (job.anchor_factor < 0.5 || job.anchor_factor > 2)
    job.warnings.push_back(fmt::format("{}: the anchor of {:g} samples/s is {:.2f} times what "
                                       "the roofline says for this GPU, model, "
                                       "precision and batch; is it the rate of one GPU?",
                                       spec.name, spec.anchor->samples_per_s,
                                       1 / job.anchor_factor));
}

void take_anchor_of(ResolvedJob& job, const ResolvedExperiment& e, const ResolvedExperiment& then)
{
  const ResolvedJob& measured = then.jobs[job.number];
  job.anchor_factor = measured.anchor_factor;
  job.anchor_lengthening = measured.anchor_lengthening;
  job.profile = models::lengthened(job.profile, job.anchor_lengthening);
  const int batch = job.spec.anchor->batch_per_gpu.value_or(measured.spec.batch_per_gpu);
  if (batch != job.spec.batch_per_gpu || measured.spec.precision != job.spec.precision ||
      measured.network.name != job.network.name || measured.framework.name != job.framework.name ||
      then.platform.gpu.name != e.platform.gpu.name ||
      measured.stack.host.name != job.stack.host.name)
    job.warnings.push_back(fmt::format(
        "{}: extrapolates: the anchor of {:g} samples/s is of the file as it stands ({} at a batch "
        "of {}, {}, {}, {}, {}); kernels there take {:.3g} times as long as computed, and are "
        "taken to "
        "do "
        "so here",
        job.spec.name, job.spec.anchor->samples_per_s, measured.network.name, batch,
        word_of(measured.spec.precision), measured.framework.name, then.platform.gpu.name,
        measured.stack.host.name, job.anchor_factor));
}

void tell_anchor(ResolvedJob& job)
{
  const JobSpec& spec = job.spec;
  if (!anchored_by_runs(spec) || spec.kernel_time == 1)
    return;
  job.warnings.push_back(fmt::format(
      "{}: the anchor of {:g} samples/s on {} {} makes kernels {:.3g} times as long as computed; "
      "exchanges, input and host are simulated as without it",
      spec.name, spec.anchor->samples_per_s, anchor_gpus(spec),
      anchor_gpus(spec) == 1 ? "GPU" : "GPUs", spec.kernel_time));
  if (spec.kernel_time < 0.5 || spec.kernel_time > 2)
    job.warnings.push_back(fmt::format("{}: that is far off; is the rate of all GPUs together, and "
                                       "at this batch and precision?",
                                       spec.name));
}

} // namespace foretrain::experiments
