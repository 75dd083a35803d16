// What people call the links between GPUs: NVLink is NVIDIA's name, AMD's are xGMI.
#pragma once

#include "sim/cost/gpu_vendor.hpp"

#include <string>

namespace foretrain::platforms {

/// A text that says NVLink, for GPUs of a maker.
inline std::string link_words(std::string text, sim::GpuVendor vendor)
{
  const std::string nvlink = "NVLink";
  const std::string xgmi = "xGMI";
  if (vendor == sim::GpuVendor::amd)
    for (auto at = text.find(nvlink); at != std::string::npos; at = text.find(nvlink, at))
      text.replace(at, nvlink.size(), xgmi);
  return text;
}

} // namespace foretrain::platforms
