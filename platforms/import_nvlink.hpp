// NVLinks of an imported machine.
#pragma once

#include "platforms/import_parts.hpp"

namespace foretrain::platforms {

/// The `nvlink` of a node; empty without any. `type` is the node's GPU part, which changes where
/// not all links of the GPU are in use. Files that cloud providers write by hand (NCCL_TOPO_FILE)
/// name no NVLinks even where there are some: what was assumed then is noted, or the user is asked
/// (ConfigError) when boards of such GPUs differ.
Json nvlink_part(const FoundNode& found, const Gpu& gpu, const ImportOptions& options, Json& type,
                 Notes& notes);

} // namespace foretrain::platforms
