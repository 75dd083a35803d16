// Chakra execution traces as protocol buffers (mlcommons/chakra, et_def.proto): a GlobalMetadata
// message, then nodes, each behind its length. The JSON form is PyTorch's (models/graphs).
#pragma once

#include "models/traces/trace.hpp"

#include <filesystem>
#include <string>

namespace foretrain::models {

/// Nodes have durations and dependencies, no streams: kernels are laid one after the other,
/// collectives beside them, each as soon as what it depends on has ended. `ranks`: of the job,
/// which the file does not tell; 0: unknown. Throws ConfigError when the file is none, or tells no
/// duration.
Trace read_chakra(const std::filesystem::path& path, int ranks = 0);

bool looks_like_chakra(const std::string& head);

} // namespace foretrain::models
