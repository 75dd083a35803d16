// Recordings of Nsight Systems, exported to SQLite (nsys export --type sqlite): kernels, copies and
// launches of CUPTI, ranges of NVTX.
#pragma once

#include "models/traces/trace.hpp"

#include <filesystem>
#include <string>

namespace foretrain::models {

/// Throws ConfigError when the file is no such export, holds no kernels, or is damaged. NVTX ranges
/// "step 3", "iteration 3", "train_step", "batch 3" are steps; "forward", "backward", "optimizer"
/// and those of torch.autograd.profiler.emit_nvtx() are phases.
Trace read_nsys(const std::filesystem::path& path);

/// Whether the file's first bytes are those of an SQLite file.
bool looks_like_sqlite(const std::string& head);

} // namespace foretrain::models
