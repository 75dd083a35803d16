// Between the two rooms: which collective library GPUs have, and how it finds its graphs on a
// machine.
#pragma once

#include "models/collectives/library.hpp"
#include "platforms/rings.hpp"

namespace foretrain::experiments {

inline platforms::GraphRules graph_rules(const models::Library& library)
{
  platforms::GraphRules rules;
  rules.order = library.rings;
  rules.search.version = library.version;
  rules.search.tables = library.vendor == sim::GpuVendor::amd;
  return rules;
}

/// The library of collectives that GPUs have where none is named.
inline const char* usual_library(const platforms::Gpu& gpu)
{
  return gpu.vendor == sim::GpuVendor::amd ? "rccl" : "nccl";
}

/// The one that is named, if any is.
inline std::string library_name(const std::string& named, const platforms::Gpu& gpu)
{
  return named.empty() ? usual_library(gpu) : named;
}

} // namespace foretrain::experiments
