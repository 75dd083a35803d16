// Which collective library GPUs exchange with.
#pragma once

#include "models/collectives/library.hpp"
#include "platforms/parts.hpp"

#include <memory>
#include <string>

namespace foretrain::experiments {

/// The library of collectives that GPUs have where none is named.
const char* usual_library(const platforms::Gpu& gpu);

/// Whether a library runs on GPUs of another maker alone.
bool runs_elsewhere(const models::Library& library, const platforms::Gpu& gpu);

/// The library that --library names, else the usual one. Throws UsageError for one that runs on
/// GPUs of another maker.
Value library_for(const std::string& named, const platforms::Gpu& gpu,
                  const OverlayPtr& overlay = {});

/// "nccl-2.19 is taken as nccl-2.18, ..." of a version that has no preset of its own; "" of others.
std::string remark_on_version(const std::string& library);

} // namespace foretrain::experiments
