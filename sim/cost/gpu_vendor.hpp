// Who makes a GPU: of his GPUs are the code of its kernels and the library of its collectives.
#pragma once

#include "sim/base/choice.hpp"

namespace foretrain::sim {

enum class GpuVendor { nvidia, amd };
constexpr auto choices(GpuVendor)
{
  return std::to_array<Choice<GpuVendor>>({{GpuVendor::nvidia, "NVIDIA"}, {GpuVendor::amd, "AMD"}});
}

} // namespace foretrain::sim
