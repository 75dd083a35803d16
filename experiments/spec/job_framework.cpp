#include "experiments/spec/job_framework.hpp"

#include "experiments/spec/graph_rules.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

models::Framework framework_of(const JobSpec& job, const platforms::Gpu& gpu)
{
  // A library that adds through host memory uses others inside a process, which have their like.
  const auto elsewhere = [&gpu](const models::Library& library) {
    return !library.host && library.vendor && *library.vendor != gpu.vendor;
  };
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
    if (*named && elsewhere(models::load_library(*named)))
      *named = preset_reference(usual_library(gpu), job.framework);
  if (!job.library)
    return framework;
  if (const models::Library library = models::load_library(job.library); elsewhere(library))
    refuse(job.library, library.name, *library.vendor,
           fmt::format("\"{}\" runs on those of {}", usual_library(gpu), word_of(gpu.vendor)));
  framework.library = job.library;
  return framework;
}

} // namespace foretrain::experiments
