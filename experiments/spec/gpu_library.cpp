#include "experiments/spec/gpu_library.hpp"

#include "sim/base/error.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

const char* usual_library(const platforms::Gpu& gpu)
{
  if (gpu.vendor == sim::GpuVendor::amd)
    return "rccl";
  constexpr double kBlackwell = 10; // of 2024; NCCL 2.18, which "nccl" stands for, is of 2023
  return gpu.compute_capability < kBlackwell ? "nccl" : "nccl-2.27";
}

// A library that adds through host memory uses others inside a process, which have their like.
bool runs_elsewhere(const models::Library& library, const platforms::Gpu& gpu)
{
  return !library.host && library.vendor && *library.vendor != gpu.vendor;
}

Value library_for(const std::string& named, const platforms::Gpu& gpu, const OverlayPtr& overlay)
{
  const std::string name = named.empty() ? usual_library(gpu) : named;
  Value value = resolve_preset(name, models::kLibraryKind, overlay);
  if (const models::Library library = models::load_library(value); runs_elsewhere(library, gpu))
    throw UsageError(
        fmt::format("--library: '{}' runs on GPUs of {}, and a {} is one of {}\n  hint: {} runs on "
                    "those of {}",
                    name, word_of(*library.vendor), gpu.name, word_of(gpu.vendor),
                    usual_library(gpu), word_of(gpu.vendor)));
  return value;
}

std::string remark_on_version(const std::string& library)
{
  const std::string taken = preset_for_version(library, models::kLibraryKind);
  return taken.empty() || library.starts_with(taken + ".") // a patch of it
             ? ""
             : fmt::format("library {} is taken as {}, the newest one described before it", library,
                           taken);
}

} // namespace foretrain::experiments
