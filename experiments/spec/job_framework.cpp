#include "experiments/spec/job_framework.hpp"

#include "experiments/spec/gpu_library.hpp"
#include "experiments/spec/kernel_curves.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

models::Framework framework_of(const JobSpec& job, const platforms::Gpu& gpu)
{
  const auto refuse = [&gpu](const Value& at, const std::string& name, sim::GpuVendor vendor,
                             const std::string& hint) {
    at.fail(fmt::format("is '{}', which runs on GPUs of {}, and a {} is one of {}", name,
                        word_of(vendor), gpu.name, word_of(gpu.vendor)),
            hint);
  };
  models::Framework framework = models::load_framework(job.framework);
  if (framework.vendor && *framework.vendor != gpu.vendor)
    refuse(job.framework, framework.name, *framework.vendor,
           "pytorch-ddp, nemo and others run on both");
  if (!framework.library)
    framework.library = preset_reference(usual_library(gpu), job.framework);
  for (Value* named : {&framework.library, &framework.library_between_nodes})
    if (*named && (named->json() == "nccl" || runs_elsewhere(models::load_library(*named), gpu)))
      *named = preset_reference(usual_library(gpu), job.framework);
  if (!job.library)
    return framework;
  if (const models::Library library = models::load_library(job.library);
      runs_elsewhere(library, gpu))
    refuse(job.library, library.name, *library.vendor,
           fmt::format("\"{}\" runs on those of {}", usual_library(gpu), word_of(gpu.vendor)));
  framework.library = job.library;
  return framework;
}

std::optional<models::HostLaunches> launches_of(const models::Framework& framework,
                                                const platforms::Gpu& gpu,
                                                const platforms::Host& host,
                                                sim::Precision precision)
{
  std::optional<models::HostLaunches> launches = framework.launches;
  if (!launches)
    return launches;
  const double guest = platforms::typical_guest(host.quality);
  launches->per_operation *= guest * host.cpu_overhead;
  launches->per_kernel = guest * (host.cpu_overhead * launches->per_kernel + host.kernel_launch);
  if (!sim::sixteen_bits(precision) || !on_tensor_cores(gpu, precision))
    launches->casts_per_weight = launches->checks_per_gradient = 0;
  return launches;
}

} // namespace foretrain::experiments
