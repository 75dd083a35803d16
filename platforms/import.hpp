// Platforms from what users already have: NCCL's topology XML and `nvidia-smi topo -m`
// (docs/import.md).
#pragma once

#include "platforms/import_options.hpp"
#include "sim/base/document.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace foretrain::platforms {

struct ImportedPlatform {
  Json json; // foretrain.platform/1, accepted by load_platform
  std::vector<std::string> notes;
};

/// Recognises the format by content. Throws ConfigError or UsageError (an option is wrong).
ImportedPlatform import_platform(const std::string& text, const std::string& name,
                                 const ImportOptions& options);
ImportedPlatform import_platform(const std::filesystem::path& file, const ImportOptions& options);

} // namespace foretrain::platforms
